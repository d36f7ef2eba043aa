"""Plug-in for pytest that imports the judge with the mutant named in the environment."""

import os

from mutants.judge import MUTANT, import_with

import_with(os.environ[MUTANT])
