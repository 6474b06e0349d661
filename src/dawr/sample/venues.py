"""The sample venues of `dawr demo`: a clinic and a restaurant.

`lab` is open round the clock, has no capacity and is left alone by everything that
plays on its own, so that the first commands anybody tries behave as written.
"""

from dawr.domain import Desk, DeskId, Journey, Queue, QueueId, Stage, Venue, VenueId

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
    _clinic_queue("eye", "D", "3", "302", "Eyes", "العيون", "眼科"),
    _clinic_queue("int", "E", "3", "301", "Internal medicine", "الباطنية", "内科"),
    _clinic_queue("sur", "F", "M", "105", "Surgery", "الجراحة", "外科"),
    _clinic_queue("ent", "G", "M", "104", "Ear, nose and throat", "الأنف والأذن والحنجرة", "耳鼻喉科"),
    _clinic_queue("psy", "H", "2", "201", "Psychiatry", "النفسية", "精神科"),
    _clinic_queue("dnt", "J", "M", "106", "Dentist", "الأسنان", "牙科"),
    _clinic_queue("der", "K", "3", "303", "Dermatology", "الجلدية", "皮肤科"),
    _clinic_queue("ecg", "L", "2", "202", "Heart (ECG)", "تخطيط القلب", "心电图"),
    _clinic_queue("aud", "M", "2", "203", "Hearing", "السمع", "听力"),
)


def _stages(codes: str, *, pin: bool = True) -> tuple[Stage, ...]:
    return tuple(Stage(QueueId(code), pin=pin) for code in codes.split())


_ALL_ROOMS = _stages("eye int sur ent psy dnt der")


def _journey(
    code: str, names: tuple[str, str, str], aliases: tuple[str, ...], *, fixed: str, free: str = ""
) -> Journey:
    """Fixed rooms first, in this order; the rest are free, and all of the usual ones if none are named."""
    name = dict(zip(("en", "ar", "zh"), names, strict=True))
    return Journey(code, name, aliases, fixed=_stages(fixed), free=_stages(free) or _ALL_ROOMS)


_JOURNEYS = (
    _journey("recruitment", ("Recruitment", "تجنيد", "征兵"), ("تجنيد",), fixed="lab xray bio"),
    _journey("promotion", ("Promotion", "ترقية", "晋升"), ("ترقية", "ترفيع"), fixed="lab xray bio"),
    _journey("transfer", ("Transfer", "نقل", "调动"), ("نقل",), fixed="lab xray bio"),
    _journey("referral", ("Referral", "تحويل", "转诊"), ("تحويل",), fixed="lab xray bio"),
    _journey("contract", ("Contract renewal", "تجديد التعاقد", "续约"), ("تجديد التعاقد", "عقد"), fixed="lab xray bio"),
    _journey("aviation", ("Aviation", "طيران", "航空"), ("طيران",), fixed="lab", free="eye int ent ecg aud"),
    _journey("cooks", ("Cooks", "طباخين", "厨师"), ("طباخين", "طباخ"), fixed="lab", free="int ent sur"),
    _journey("courses", ("Courses", "دورات", "培训"), ("دورات", "دورة"), fixed="lab", free="eye sur int"),
    Journey(
        "women-general",
        {"en": "Women, general", "ar": "النساء - عام", "zh": "女性体检"},
        ("women", "نساء", "النساء"),
        audience="women",
        fixed=_stages("lab xray bio"),
        free=_stages("ent sur dnt") + _stages("int eye der", pin=False),
    ),
)

CLINIC = Venue(
    id=_NEW,
    slug="clinic",
    name={"en": "Medical committee", "ar": "اللجنة الطبية", "zh": "体检中心"},
    zone="Asia/Qatar",
    kind="clinic",
    queues=_CLINIC_QUEUES,
    desks=tuple(
        Desk(
            DeskId(f"room-{queue.room}"),
            {"en": f"Room {queue.room}", "ar": f"غرفة {queue.room}", "zh": f"{queue.room} 室"},
            (queue.id,),
        )
        for queue in _CLINIC_QUEUES
    ),
    journeys=_JOURNEYS,
    walking_minutes={"M": {"2": 3, "3": 4}, "2": {"3": 2}},
    code_prefix="MC",
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
