"""What is read off a release's samples without a question: tables and curves for reports and plots. Numbers only."""

from app.core.summaries.histogram import Histogram, JointHistogram, edges_of, histogram, joint_histogram
from app.core.summaries.kernel_density import KernelDensity, kernel_density
from app.core.summaries.summary import Summary, summarise, tightest_interval

__all__ = [
    "Histogram",
    "JointHistogram",
    "KernelDensity",
    "Summary",
    "edges_of",
    "histogram",
    "joint_histogram",
    "kernel_density",
    "summarise",
    "tightest_interval",
]
