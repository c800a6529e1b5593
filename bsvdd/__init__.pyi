from .inference.cutoff import Cutoff as Cutoff
from .inference.estimators import BDD as BDD
from .inference.estimators import BSVDD as BSVDD
from .inference.estimators import BSVDDM as BSVDDM
from .inference.estimators import SVDD as SVDD
from .inference.storage import load as load
from .models import kernels as kernels
from .models import priors as priors
