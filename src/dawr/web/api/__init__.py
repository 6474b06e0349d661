"""The native API under `/v1`: resources and verbs, in Dawr's own words."""
