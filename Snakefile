# The workflow is workflow/Snakefile; with this one profiles/default is found from any folder.


include: "workflow/Snakefile"
