"""The fixtures of the functional tests, for fleets of a million. Release builds only."""

import importlib.util
import pathlib

FUNCTIONAL = pathlib.Path(__file__).parents[1] / "functional" / "conftest.py"
spec = importlib.util.spec_from_file_location("functional_conftest", FUNCTIONAL)
functional = importlib.util.module_from_spec(spec)
spec.loader.exec_module(functional)

net, nl6 = functional.net, functional.nl6
