"""Load runs that hold performance as ratios within one run."""
