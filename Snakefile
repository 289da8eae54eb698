# Kernelized Heterogeneous Risk Minimization, from raw data to tables and figures.
#
#   snakemake --cores 8 all                          everything, at the paper's sizes
#   snakemake --cores 2 all --config preset=smoke    the whole DAG, in a minute and a half
#   snakemake --cores 2 table1                       one table; figure2, figure3 likewise
#   snakemake --cores 2 all --config preset=fresh    the published tables, on seeds from 1000 on
#   snakemake --cores 2 tune                         every method's option set again
#   snakemake --cores 2 verify                       this run against the committed one
#   snakemake --cores 2 study_ambiguities            what the paper leaves open, flipped one by one
#   snakemake --cores 2 claims                       what the paper says, checked one by one
#   snakemake --cores 2 dataset_mine                 a table of one's own: config/datasets/mine.yaml
#
# The data walk one way: raw -> data set -> NTF -> SVD (Psi) -> environments_t / theta_t
# -> predictions -> scores -> tables -> notebooks.  Rules stand by stage in workflow/rules.


include: "workflow/rules/common.smk"
include: "workflow/rules/functions.smk"
include: "workflow/rules/gathering.smk"
include: "workflow/rules/announcement.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/iterations.smk"
include: "workflow/rules/predictors.smk"
include: "workflow/rules/tuning.smk"
include: "workflow/rules/scoring.smk"
include: "workflow/rules/reporting.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/publishing.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/claims.smk"


rule all:
    """Every table and figure, and that no method has failed."""
    default_target: True
    input:
        CHECKED,
        lost_of(IN_ALL),
    localrule: True
