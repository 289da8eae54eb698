from . import plots as plots
from .algorithm.loop import Fit as Fit
from .algorithm.loop import fit as fit
from .algorithm.options import KerHRMOptions as KerHRMOptions
from .algorithm.problem import Problem as Problem
from .errors import KerhrmError as KerhrmError
from .estimators.baselines import ERM as ERM
from .estimators.baselines import ChiSquareDRO as ChiSquareDRO
from .estimators.baselines import TangentRidge as TangentRidge
from .estimators.environments import IRM as IRM
from .estimators.environments import GroupDRO as GroupDRO
from .estimators.inference import EIIL as EIIL
from .estimators.inference import HRM as HRM
from .estimators.inference import JTT as JTT
from .estimators.kerhrm import KerHRMClassifier as KerHRMClassifier
from .estimators.kerhrm import KerHRMRegressor as KerHRMRegressor
from .estimators.options import EstimatorOptions as EstimatorOptions
from .estimators.scoring import worst_group_score as worst_group_score
from .features.map import NTFMap as NTFMap
from .features.nystroem import NystroemMap as NystroemMap
from .heterogeneity.test import test_heterogeneity as test_heterogeneity
from .methods.registry import METHODS as METHODS
from .networks.build import build as build
from .networks.options import NetworkOptions as NetworkOptions
from .tables.columns import table_encoder as table_encoder

__version__: str
