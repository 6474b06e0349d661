"""The sample venues of `dawr demo`: a clinic and a restaurant.

`lab` is open round the clock, has no capacity and is left alone by everything that
plays on its own, so that the first commands anybody tries behave as written.
"""

from dawr.domain import Desk, DeskId, Queue, QueueId, Venue, VenueId

_NEW = VenueId("")


def _clinic_queue(code: str, prefix: str, floor: str, room: str, *names: str, aliases: tuple[str, ...] = ()) -> Queue:
    return Queue(
        id=QueueId(code),
        name=dict(zip(("en", "ar", "zh"), names, strict=True)),
        prefix=prefix,
        aliases=aliases,
        floor=floor,
        room=room,
    )


_CLINIC_QUEUES = (
    _clinic_queue("lab", "A", "M", "101", "Laboratory", "المختبر", "化验室"),
    _clinic_queue("xray", "B", "M", "102", "X-ray", "الأشعة", "放射科", aliases=("xr",)),
    _clinic_queue("bio", "C", "M", "103", "Vital signs", "القياسات الحيوية", "体征测量", aliases=("vitals",)),
    _clinic_queue("eye", "D", "2", "201", "Eyes", "العيون", "眼科"),
    _clinic_queue("int", "E", "2", "202", "Internal medicine", "الباطنية", "内科"),
    _clinic_queue("sur", "F", "2", "203", "Surgery", "الجراحة", "外科"),
    _clinic_queue("ent", "G", "2", "204", "Ear, nose and throat", "الأنف والأذن والحنجرة", "耳鼻喉科"),
    _clinic_queue("psy", "H", "3", "301", "Psychiatry", "النفسية", "精神科"),
    _clinic_queue("dnt", "J", "3", "302", "Dentist", "الأسنان", "牙科"),
    _clinic_queue("der", "K", "3", "303", "Dermatology", "الجلدية", "皮肤科"),
    _clinic_queue("ecg", "L", "3", "304", "Heart (ECG)", "تخطيط القلب", "心电图"),
    _clinic_queue("aud", "M", "3", "305", "Hearing", "السمع", "听力"),
)

CLINIC = Venue(
    id=_NEW,
    slug="clinic",
    name={"en": "Medical committee", "ar": "اللجنة الطبية", "zh": "体检中心"},
    zone="Asia/Qatar",
    kind="clinic",
    queues=_CLINIC_QUEUES,
    desks=tuple(
        Desk(DeskId(f"room-{queue.room}"), {"en": f"Room {queue.room}", "ar": f"غرفة {queue.room}"}, (queue.id,))
        for queue in _CLINIC_QUEUES
    ),
)

RESTAURANT = Venue(
    id=_NEW,
    slug="demo-restaurant",
    name={"en": "Demo restaurant", "ar": "مطعم تجريبي", "zh": "示范餐厅"},
    zone="Asia/Qatar",
    kind="restaurant",
    queues=(
        Queue(
            id=QueueId("waitlist"),
            name={"en": "Waitlist", "ar": "قائمة الانتظار", "zh": "候位"},
            prefix="R",
            mean_service_seconds=600,
        ),
    ),
    desks=(Desk(DeskId("host"), {"en": "Host", "ar": "الاستقبال", "zh": "迎宾台"}, (QueueId("waitlist"),)),),
)
