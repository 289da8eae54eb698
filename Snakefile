# The workflow is workflow/Snakefile; with this one profiles/default is found from any folder.


include: "workflow/Snakefile"


# Snakemake forgets the default target of a file that is included.
if workflow.modifier.is_main_snakefile():
    workflow.default_target = "all"
