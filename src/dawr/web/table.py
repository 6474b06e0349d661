"""Every route there is, in one table."""

from dawr.web import health
from dawr.web.api import (
    audit,
    desks,
    events,
    pins,
    queues,
    reception,
    sessions,
    staff,
    tickets,
    tokens,
    traffic,
    venues,
    visits,
)
from dawr.web.doors import clinic, clinic_paths, clinic_patients, clinic_pins, clinic_stream, restaurant
from dawr.web.pages import assets, docs, first_run, home, visit
from dawr.web.routes import Route

ROUTES: tuple[Route, ...] = (
    *health.ROUTES,
    *queues.ROUTES,
    *tickets.ROUTES,
    *visits.ROUTES,
    *reception.ROUTES,
    *desks.ROUTES,
    *pins.ROUTES,
    *venues.ROUTES,
    *events.ROUTES,
    *audit.ROUTES,
    *sessions.ROUTES,
    *staff.ROUTES,
    *tokens.ROUTES,
    *traffic.ROUTES,
    *clinic.ROUTES,
    *clinic_patients.ROUTES,
    *clinic_paths.ROUTES,
    *clinic_pins.ROUTES,
    *clinic_stream.ROUTES,
    *restaurant.ROUTES,
    *home.ROUTES,
    *assets.ROUTES,
    *docs.ROUTES,
    *first_run.ROUTES,
    *visit.ROUTES,
)
