from .estimators import plots as plots
from .estimators import scorers as scorers
from .estimators.as_published import as_published as as_published
from .estimators.bdd import BDD as BDD
from .estimators.bdd import BDDM as BDDM
from .estimators.bsvdd import BSVDD as BSVDD
from .estimators.bsvdd import BSVDDM as BSVDDM
from .estimators.rows.tables import read_table as read_table
from .estimators.saved_file import load as load
from .estimators.svdd import SVDD as SVDD
from .estimators.svdd import SVDDM as SVDDM
from .estimators.svm import DSVM as DSVM
from .estimators.svm import IDLSSVM as IDLSSVM
from .estimators.svm import LSSVM as LSSVM
from .estimators.svm import OCSVM as OCSVM
from .estimators.svm import SVM as SVM
from .estimators.views import Views as Views
from .explorer.explorer import explore as explore
from .inference import cutoffs as cutoffs
from .inference.cutoff import Cutoff as Cutoff
from .models import kernels as kernels
from .models import priors as priors
from .models.landmarks import Landmarks as Landmarks

__version__: str
