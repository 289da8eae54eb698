"""Methods and settings of the paper's tables, by the names that score files have."""

BASELINES = ("ERM", "DRO", "EIIL", "HRM", "IRM")
STATIC = "KerHRM (first iteration)"
#: Table 1: share of agreement in the second training environment
RATES = ("r2=0.7", "r2=0.75", "r2=0.8")
#: Table 2: number of environments
COUNTS = ("r2=0.8,K=2", "r2=0.8,K=3", "r2=0.8,K=4", "r2=0.8,K=5")
#: Table 3: H = I in scenario 1, H mixes S and V in scenario 2; r is the selection bias
SCENARIO_1 = ("scenario=1,r=1.5", "scenario=1,r=1.9", "scenario=1,r=2.3")
SCENARIO_2 = ("scenario=2,r=1.5", "scenario=2,r=1.9", "scenario=2,r=2.3")
SELECTIONS = SCENARIO_1 + SCENARIO_2
#: Figure 3: years of the training houses, and later ones
FIRST_PERIOD = "period=1900-1919"
LATER_PERIODS = (
    "period=1920-1939",
    "period=1940-1959",
    "period=1960-1979",
    "period=1980-1999",
    "period=2000-2015",
)
#: Figure 2: iterations of the authors' code
ITERATIONS = tuple(f"iteration={t}" for t in range(1, 20))
#: small runs: shares of points that are in a wrong environment
CORRUPTED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
#: small runs: turns from an invariant direction to that of ERM
TURNED = (0.0, 0.25, 0.5, 0.75, 1.0)
