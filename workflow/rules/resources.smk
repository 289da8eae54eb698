# What a job may use on a cluster; on one machine nothing is limited by it.
#
#   mem_mb=memory(4000)      MB, or a multiple of the size of the input if that is more
#   runtime=minutes(60)      wall time
#
# A job that is started again gets as much again of both: most likely it was stopped for
# want of one.  Inside a job group the input does not exist at submission, so that the
# first number counts; it holds at the paper's sizes.

TIMES_INPUT = 5  # measured at most 4.7, in reduce_ntf


def memory(mb):
    """Memory of a job in MB: the larger of ``mb`` and its input's, times the attempt."""

    def mem_mb(wildcards, input, attempt):
        sizes = (os.path.getsize(f) for f in input if os.path.exists(f))
        return attempt * max(mb, TIMES_INPUT * sum(sizes) // 10**6)

    return mem_mb


def minutes(number):
    """Wall time of a job in minutes, times the attempt."""

    def runtime(wildcards, attempt):
        return attempt * number

    return runtime
