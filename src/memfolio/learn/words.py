"""Words that name things, English verbs and their forms, and whose words they are."""

from __future__ import annotations

import re
from functools import lru_cache

# Words that name things: technologies, places, companies, first names, times, and capitals that name nothing.


def _by_key(text: str) -> dict[str, str]:
    return {name.lower(): name for name in (part.strip() for part in text.replace("\n", ",").split(",")) if name}


TOOLS = _by_key("""
Python, JavaScript, TypeScript, Java, Kotlin, Scala, Rust, Golang, Ruby, PHP, Perl, Swift, Haskell, Elixir, Erlang
C++, C#, F#, Clojure, Lua, MATLAB, Julia, COBOL, Fortran, Bash, PowerShell, SQL, HTML, CSS, GraphQL, gRPC, WebAssembly
PostgreSQL, Postgres, MySQL, MariaDB, SQLite, MongoDB, Redis, Cassandra, DynamoDB, Elasticsearch, OpenSearch, Neo4j
Snowflake, BigQuery, Redshift, ClickHouse, DuckDB, Supabase, Firebase, CockroachDB, Kafka, RabbitMQ, Celery, NATS
Docker, Kubernetes, Podman, Helm, Terraform, Ansible, Puppet, Pulumi, Vagrant, Jenkins, CircleCI, GitHub Actions, GitLab
GitHub, Bitbucket, Git, AWS, Azure, GCP, Google Cloud, Heroku, Vercel, Netlify, Cloudflare, DigitalOcean, Hetzner
Render.com, Fly.io, Lambda, Nginx, Traefik, HAProxy, Prometheus, Grafana, Datadog, Sentry, Splunk, Kibana, Logstash
React, React Native, Vue, Vue.js, Angular, Svelte, SvelteKit, Next.js, Nuxt, Node.js, Node, Deno, Bun, Express
Express.js, jQuery, Tailwind, Tailwind CSS, Bootstrap, Webpack, Vite, Babel, ESLint, Prettier, Jest, Cypress, Playwright
Selenium, Storybook, Redux, Django, Flask, FastAPI, Rails, Ruby on Rails, Laravel, Symfony, Spring Boot, Hibernate
SQLAlchemy, Pydantic, NumPy, Pandas, SciPy, PyTorch, TensorFlow, Keras, scikit-learn, Hugging Face, LangChain, Ollama
OpenCV, Jupyter, Airflow, Spark, Hadoop, Flink, dbt, pytest, mypy, ruff, npm, yarn, pnpm, pip, Poetry, Gradle, Maven
CMake, Bazel, Linux, Ubuntu, Debian, Fedora, Arch Linux, NixOS, macOS, Windows, Android, iOS, Vim, Neovim, Emacs
VS Code, VSCode, Visual Studio Code, IntelliJ, PyCharm, WebStorm, Xcode, Eclipse, Sublime Text, Cursor, Copilot
GitHub Copilot, ChatGPT, GPT-4, Slack, Discord, Zoom, Microsoft Teams, Jira, Trello, Asana, Notion, Obsidian, Linear
Confluence, Figma, Photoshop, Illustrator, Blender, Unity, Unreal Engine, Excel, Google Sheets, Google Docs, Gmail
Google Calendar, Google Analytics, Outlook, PowerPoint, Grammarly, Scrivener, Airtable, Zapier, Stripe, PayPal, Twilio
WordPress, Shopify, Squarespace, Salesforce, HubSpot, Tableau, Power BI, Postman, Swagger, Wireshark, Raspberry Pi
Arduino, Spotify, Netflix, YouTube, WhatsApp, Signal, Telegram, Duolingo, Strava, Kindle, LinkedIn, Instagram, TikTok
Mixpanel, Firefox, Chrome, Safari, Zed, Zig, Auth0, Okta, Keycloak, OAuth, Memcached, S3, Zsh, tmux, Pinecone
Weaviate, Qdrant, Todoist, Evernote, Anki
""")
AMBIGUOUS_TOOLS = frozenset(
    """
node express render lambda bun cursor signal spark linear notion slack zoom swift unity poetry bootstrap puppet
helm flask rails windows excel outlook react go rust ruby julia yarn discord teams stripe eclipse spring nuxt angular
illustrator copilot scala java python strava bash kindle anki blender obsidian sentry pandas jest vite redshift
""".split()
)
"""Words as well as tools: they name a tool only when they are written with a capital."""
PLACES = _by_key("""
Afghanistan, Albania, Algeria, Argentina, Armenia, Australia, Austria, Bangladesh, Belgium, Bolivia, Bosnia, Brazil
Bulgaria, Cambodia, Cameroon, Canada, Chile, China, Colombia, Costa Rica, Croatia, Cuba, Cyprus, Czechia, Denmark
Ecuador, Egypt, England, Estonia, Ethiopia, Finland, France, Georgia, Germany, Ghana, Greece, Guatemala, Hungary
Iceland, India, Indonesia, Iran, Iraq, Ireland, Israel, Italy, Jamaica, Japan, Jordan, Kenya, Korea, South Korea
Latvia, Lebanon, Lithuania, Luxembourg, Malaysia, Malta, Mexico, Mongolia, Morocco, Nepal, Netherlands, New Zealand
Nigeria, Norway, Pakistan, Panama, Peru, Philippines, Poland, Portugal, Qatar, Romania, Russia, Saudi Arabia, Scotland
Senegal, Serbia, Singapore, Slovakia, Slovenia, South Africa, Spain, Sri Lanka, Sweden, Switzerland, Syria, Taiwan
Tanzania, Thailand, Tunisia, Turkey, Uganda, Ukraine, United Kingdom, UK, United States, USA, US, Uruguay, Venezuela
Vietnam, Wales, Europe, Africa, Asia, South America, North America, Antarctica, EU, Scandinavia, Bavaria, Tuscany
Amsterdam, Athens, Atlanta, Austin, Baltimore, Bangalore, Bangkok, Barcelona, Basel, Beijing, Belfast, Berlin, Bern
Birmingham, Bogotá, Bologna, Bordeaux, Boston, Brisbane, Bristol, Brussels, Bucharest, Budapest, Buenos Aires, Cairo
Calgary, California, Cambridge, Cape Town, Chennai, Chicago, Cologne, Colorado, Copenhagen, Dallas, Delhi, New Delhi
Denver, Detroit, Dresden, Dubai, Dublin, Düsseldorf, Edinburgh, Florence, Florida, Frankfurt, Geneva, Genoa, Ghent
Glasgow, Gothenburg, Granada, Graz, Hamburg, Hanoi, Hanover, Havana, Hawaii, Helsinki, Hong Kong, Houston, Hyderabad
Istanbul, Jakarta, Jerusalem, Johannesburg, Kraków, Krakow, Kyiv, Kyoto, Lagos, Leeds, Leipzig, Lima, Lisbon, Liverpool
Ljubljana, London, Los Angeles, LA, Lyon, Madrid, Malmö, Manchester, Manila, Marseille, Melbourne, Mexico City, Miami
Milan, Minneapolis, Montreal, Moscow, Mumbai, Munich, Nairobi, Naples, New Orleans, New York, New York City, NYC
Oakland, Oregon, Osaka, Oslo, Ottawa, Oxford, Paris, Philadelphia, Phoenix, Porto, Portland, Prague, Quebec, Riga
Rio de Janeiro, Rome, Rotterdam, Salzburg, San Diego, San Francisco, Santiago, São Paulo, Seattle, Seoul, Seville
Shanghai, Sicily, Sofia, Stockholm, Stuttgart, Sydney, Tallinn, Texas, Tokyo, Toronto, Toulouse, Turin, Utrecht
Valencia, Vancouver, Venice, Vienna, Vilnius, Virginia, Warsaw, Washington, Wellington, Zagreb, Zurich, Zürich
""")
ORGANIZATIONS = _by_key("""
Google, Microsoft, Apple, Amazon, Meta, Facebook, OpenAI, Anthropic, IBM, Intel, Nvidia, AMD, Oracle, SAP, Siemens
Bosch, BMW, Volkswagen, Tesla, Toyota, Samsung, Sony, Nintendo, Airbnb, Uber, Lyft, Deloitte, KPMG, McKinsey, Accenture
Pfizer, Novartis, Nestlé, IKEA, Lufthansa, Walmart, Starbucks, NASA, NATO, UNICEF, UN, EU, Red Cross, MIT, Stanford
Harvard, Yale, ETH, BBC, CNN, Adobe, Cisco, Dell, HP, Philips, Airbus, Boeing, Spotify AB, Shell, Zalando, Netflix Inc
""")
NAMES = frozenset(
    """
aaron abigail adam adrian agnieszka ahmed aisha alan albert alex alexander alexandra alfred ali alice alina amanda
amelia amir amy ana andrea andreas andrew angela anil anita ann anna anne annie anthony antonio aria arjun arthur
ashley audrey barbara ben benjamin bernard beth bob bradley brandon brenda brian bruce bruno bryan calvin carl carla
carlos carol caroline catherine charles charlie charlotte chen cheryl chloe chris christian christina christine
christopher cindy claire clara claudia colin connor craig crystal cynthia daniel daniela darren dave david deborah
deepak denis denise dennis derek diana diane diego dmitri dominic donald donna doris dorothy doug douglas duncan dylan
edith edward elaine eleanor elena eli elias elizabeth ella ellen emily emma eric erik ernest esther ethan eugene eva
evan evelyn ewa fatima fatma felix fiona francis frank fred frederick gabriel gary gavin george gerald gina giulia
gladys gloria gordon grace graham greg hamza hannah hans harry hassan hazel heather heidi helen helena henry hiroshi
howard hugh hugo ian ibrahim ingo ingrid irene isaac isabel isabella isla ivan jack jackie jacob jake james jamie jan
jane janet jasmine jason javier jay jean jeff jeffrey jennifer jenny jeremy jerry jessica jessie jill jim joan joanna
joe joel johanna john jonas jonathan jordan jorge jose joseph josh joshua joyce juan judith judy julia julian julie
justin karen karim karl kate katherine kathy katie katja keith kelly ken kenji kenneth kevin kim kimberly klaus kurt
kyle kylie lara larry lars laura lauren lawrence lea leah leila lena leo leon leonie lewis liam lily linda lisa logan
lois lorraine louis louise lucas lucia lucy luis luke luna lynn mai manuel marco marcus margaret maria marie marilyn
mario marion mark marta martin marvin mary mason mateo matt matthew maureen maurice max maya megan mei melanie melissa
mia michael michele michelle miguel mike mila ming miriam mitchell mohammed monica nadia nancy natalie natasha nate
nathan nathaniel neil nelson nick nicole nils nina noah nora norma norman oliver olivia omar oscar otto owen pablo
pamela patricia patrick paul paula pedro peggy peter petra phil philip phillip phyllis pierre piotr priya rachel raj
ralph randy ravi raymond rebecca regina rhonda richard rita rob robert roberto robin rodney roger ron ronald rosa
rosie roy russell ruth ryan sabine sally sam samantha samira samuel sandra sara sarah scott sean sebastian shannon
sharon sheila shirley sidney simon simone sofia sofie sonja sophia sophie stanley stefan stella stephanie stephen
steve steven stuart sue sunita susan sven svetlana tamara tanya tara ted teresa terry theo theresa thomas tiffany tim
tina tobias todd tom tomasz tony tracy travis trevor tyler ursula valerie vanessa vera vernon victor victoria viktor
vincent walter wanda warren wayne wei wendy wesley william yara yuki yusuf yvonne zara zoe
""".split()
)
LANGUAGES = frozenset(
    """
english german french spanish italian portuguese dutch swedish norwegian danish finnish polish czech slovak hungarian
romanian bulgarian greek turkish russian ukrainian arabic hebrew persian farsi hindi urdu bengali tamil chinese mandarin
cantonese japanese korean vietnamese thai indonesian malay swahili latin catalan irish welsh croatian serbian american
british european african asian canadian australian indian mexican brazilian scottish swiss austrian belgian
""".split()
)
TIMES = frozenset(
    """
january february march april may june july august september october november december jan feb mar apr jun jul aug sep
sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
saturdays sundays mon tue wed thu fri sat sun christmas easter halloween thanksgiving spring summer autumn fall winter
""".split()
)
WHEN = re.compile(
    r"\b(?:tomorrow|tonight|today|next (?:week|month|year|spring|summer|fall|autumn|winter|\w+day)|this (?:week|month"
    r"|year|weekend|spring|summer|fall|autumn|winter|afternoon|evening|\w+day)|(?:on|by|in|until|before|from|this"
    r"|at) (?:the )?(?:\d|mon|tues|wednes|thurs|fri|satur|sun|jan|feb|march|apr|may\b|june|july|aug|sept|oct|nov|dec"
    r"|end of|noon|midnight|christmas|easter|spring|summer|autumn|winter|(?:a|two|three|four|five|six|a few) (?:day"
    r"|week|month|year))|(?:jan|feb|march|apr|may|june|july|aug|sept?|oct|nov|dec)[a-z]* \d)",
    re.IGNORECASE,
)
OFTEN = re.compile(
    r"\b(?:every|each|once|twice|daily|weekly|monthly|regularly|usually|often|always|never|on \w+days|times a"
    r"|weekends|most)\b"
)
NO_NAMES = frozenset(
    """
i i'm i've i'd i'll a an the this that these those it its he she they we you my our your his her their who what when
where why how which if and or but so because since although though while as at in on of for from to with by about after
before during until ok okay yes no yeah yep nope sure thanks thank please hi hey hello wow cool great awesome nice good
well also just maybe perhaps actually really very not never always sometimes here there now then today tomorrow
yesterday tonight mr mrs ms dr prof sir madam god lol omg btw fyi imo imho asap eta diy ceo cto cfo vp hr pr api apis
url http https json xml pdf csv faq tv pc cpu gpu ram usb ui ux id ai ml it's that's let's don't can't won't am pm usd
eur gdp phd mba bsc msc ba ma mom dad mum mama papa grandma grandpa mommy daddy internet web bible congrats happy love
glad bye goodbye congratulations bummer phew ugh aww yay whoa damn cheers hope such seeing dear chef nature life sounds
looks haha hmm ah oh woah sorry welcome absolutely definitely exactly totally agreed any some all each every both only
even once first second third finally next last later recently currently lately can could would should will may might
must do does did have has had is are was were be been being make take get go let keep try use call regarding concerning
moreover furthermore otherwise instead besides despite everyone everybody someone somebody anyone anybody nobody whoever
mine yours ours nothing everything something anything remember note todo ps p.s nb re cc q a.m p.m ok. utc gmt est pst
cet
""".split()
)


# English verbs as far as statements need them: what a form belongs to, and how others say what somebody says.

_IRREGULAR = """
be am is are was were been being|have has had having|do does did done doing|go goes went gone going|
get gets got gotten getting|buy bought|sell sold|leave left|lose lost|win won winning|break broke broken|meet met|
begin began begun beginning|run ran running|write wrote written|read|speak spoke spoken|teach taught|
drive drove driven|grow grew grown|keep kept|bear born bore|come came|become became|see saw seen|eat ate eaten|
drink drank drunk|sing sang sung|swim swam swum swimming|sleep slept|feel felt|think thought|know knew known|
find found|build built|make made|take took taken|give gave given|tell told|say said|choose chose chosen|stand stood|
spend spent|send sent|hold held|wear wore worn|wake woke woken|fly flew flown|ride rode ridden|fall fell fallen|
pay paid|put putting|set setting|quit quitting|cut cutting|hit hitting|cost|hurt|let|bring brought|catch caught|
fight fought|forget forgot forgotten|hear heard|lead led|mean meant|understand understood|draw drew drawn|throw threw|
show showed shown|lie lay|die dying|marry married|study studied|try tried|carry carried|plan planned planning|
ship shipped shipping|stop stopped stopping|log logged logging|travel traveled travelled travelling|swap swapped|
jog jogged jogging|enrol enrolled|prefer preferred preferring rather|refer referred|knit knitted knitting|
program programmed programming|label labelled|tend|need|feed fed|breed bred|bleed bled
"""
_REGULAR = """
live reside work study major attend tutor coach hail play own use manage head supervise train practise practice collect
raise foster cook bake paint dance hike cycle fish garden sew learn volunteer suffer weigh earn belong believe graduate
celebrate listen depend require support deploy host store contain consist expire return connect integrate handle release
serve target follow test track default like love enjoy hate dislike detest adore loathe despise favour favor fancy crave
mind avoid want adopt purchase move retire resign join start finish complete fracture launch publish pass fail visit
sign enroll hire open close switch migrate upgrade climb book receive land accept decline reject change cancel turn fix
watch decide agree pick settle develop maintain rely talk call name rename relocate propose engage divorce separate
promote register apply compete perform record direct design create organize organise donate plant renovate rent lease
share commute smoke exercise meditate pray worship identify wish hope promise remind remember note schedule happen last
end cover include ask answer reply format consider suggest recommend look seem appear help wonder appreciate thank worry
suppose guess doubt assume imagine stay walk step specialize specialise focus contribute postpone reschedule delay
insist invest save owe borrow lend subscribe convert replace remove add implement ship import export cache expose
"""
ADVERBS = frozenset(
    """
also just really always never usually often sometimes currently now still already recently finally actually mostly
mainly generally typically normally probably definitely maybe perhaps possibly absolutely totally truly deeply honestly
personally especially particularly only even both rarely seldom hardly barely ever kinda sorta simply officially
apparently supposedly much strongly slightly greatly secretly lately then soon almost nearly quite so very occasionally
regularly frequently sincerely genuinely certainly obviously originally previously formerly primarily largely basically
literally hopefully temporarily permanently thankfully sadly luckily longer unfortunately fortunately meanwhile however
""".split()
)
HEDGES = frozenset("maybe perhaps possibly probably might may apparently supposedly kinda sorta hopefully".split())
MODALS = frozenset("will would can could shall should may might must cannot can't won't wouldn't couldn't".split())
NEGATIONS = frozenset(
    "not never n't don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't can't cannot won't "
    "wouldn't couldn't shouldn't no".split()
)
AUXILIARIES = (
    MODALS | NEGATIONS | frozenset("am is are was were be been being have has had do does did 'll shouldn't to".split())
)
_NO_PAST = frozenset("need feed breed bleed speed proceed succeed exceed embed shed wed seed weed".split())
_THIRD = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "ain't": "isn't", "go": "goes",
}  # fmt: skip
_NO_VERB = frozenset("and or but to of the a an in on at for with who that which my our than as too either".split())


def _forms() -> dict[str, str]:
    forms: dict[str, str] = {}
    for group in _IRREGULAR.replace("\n", " ").split("|"):
        lemma, *others = group.split()
        forms |= dict.fromkeys([*_inflected(lemma), *others], lemma)
    for lemma in _REGULAR.split():
        forms |= dict.fromkeys(_inflected(lemma), lemma)
    return forms


def _inflected(lemma: str) -> tuple[str, ...]:
    stem = lemma.removesuffix("e")
    past = lemma[:-1] + "ied" if lemma.endswith("y") and lemma[-2] not in "aeiou" else stem + "ed"
    return lemma, third(lemma), past, stem + "ing", lemma + "ing"


def third(base: str) -> str:
    """What he or she does, from what I do: `goes`, `tries`, `lives`."""
    if base in _THIRD:
        return _THIRD[base]
    if base.endswith(("s", "x", "z", "ch", "sh", "ss")):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


FORMS = _forms()
_PASTS = frozenset(
    form for form, lemma in FORMS.items() if form not in _inflected(lemma) and not form.endswith("ing")
) - {"am", "is", "are", "has", "does", "goes", "rather"} | {"quit", "read", "hurt", "split", "cut", "hit"}


@lru_cache(maxsize=4096)
def lemma_of(word: str) -> str:
    """The verb that a form belongs to, or an empty string for what is no verb that is known."""
    return FORMS.get(word, "")


def is_past(word: str) -> bool:
    """Whether a form tells of the past: `went`, `moved`."""
    return word in _PASTS or (word.endswith("ed") and word not in _NO_PAST)


@lru_cache(maxsize=4096)
def as_third(word: str) -> str:
    """The word after `I`, as it is after a name."""
    low = word.lower()
    if low in _THIRD:
        return _THIRD[low]
    if low in AUXILIARIES or low in _NO_VERB or not low.isalpha() or is_past(low) or low.endswith("ing"):
        return word
    return third(low if word.isupper() else word)


@lru_cache(maxsize=4096)
def is_finite(word: str, plural: bool) -> bool:
    """Whether a word can be what somebody does, rather than a part of who does it."""
    if word in AUXILIARIES:
        return word != "to" and word != "no" and word != "being"
    lemma = FORMS.get(word)
    if not lemma or word.endswith("ing"):
        return False
    return is_past(word) or (word == lemma if plural else word == third(lemma))


# What somebody says of themselves, as others would say it: `I love my job` is `Alex loves Alex's job`.

_ADVERB = "no longer|" + "|".join(sorted(ADVERBS, key=len, reverse=True))
_I = re.compile(
    rf"(?P<pair>\b(?:and|or)\s+)?\bI(?P<short>'m|'ve|'d|'ll)?\b(?![-/.'])(?P<adverbs>(?:\s+(?:{_ADVERB})\b)*)"
    r"(?:\s+(?P<verb>[A-Za-z]+(?:'t)?)(?![\w']))?"
)
_ASKED = re.compile(r"\b(?:do|did|am|can|could|should|would|will|have|than)\s+$", re.IGNORECASE)
_REST = re.compile(r"\b(?:[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ww]e(?:'(?:re|ve|ll|d))?|[Oo]urs?|[Uu]s|[Oo]urselves)\b(?!-)")
_SHORT = {"'m": " is", "'ve": " has", "'ll": " will", "'re": " are"}
_WORK = re.compile(
    r"\b(?:deploy|releas|ship|code|database|server|api|sprint|stand-?up|customer|client|product|project|team|office"
    r"|repo|branch|pipeline|build|test|review|merge|migrat|use|host|stack|backend|frontend|staging|production|launch"
    r"|users?|postgres|kubernetes|docker|aws|store|decided|go with|meeting|software|python|vendor|budget)",
    re.IGNORECASE,
)


class Voice:
    """How one speaker is spoken of."""

    __slots__ = ("inner", "name")

    def __init__(self, speaker: str) -> None:
        self.name = " ".join(speaker.split()) or "The user"
        self.inner = "the user" if self.name == "The user" else self.name

    def retell(self, clause: str) -> str:
        """`clause` in the third person."""
        told = _I.sub(self._verb, clause)
        told = _REST.sub(lambda found: self._other(found[0], clause), told)
        return self._capital(told)

    def _verb(self, found: re.Match[str]) -> str:
        verb, short = found["verb"] or "", found["short"] or ""
        if not verb and not short and not found["pair"]:
            return found[0]
        adverbs = found["adverbs"] or ""
        if short == "'d":
            short = " had" if verb == "better" or (verb and is_past(verb)) or verb == "been" else " would"
        else:
            changes = not short and not found["pair"] and not _ASKED.search(found.string, 0, found.start())
            verb = as_third(verb) if changes else verb
            short = _SHORT.get(short, "")
        return f"{found['pair'] or ''}{self.inner}{short}{adverbs}{f' {verb}' if verb else ''}"

    def _we(self, clause: str) -> str:
        return f"{self.inner}'s team" if _WORK.search(clause) else f"{self.inner} and others"

    def _other(self, word: str, clause: str) -> str:
        low = word.lower()
        if low.startswith("we"):
            return self._we(clause) + (_SHORT | {"'d": " would", "'ve": " have"}).get(low[2:], "")
        if low in ("myself", "ourselves"):
            return "themselves"
        if low == "us":
            return self._we(clause)
        return self.inner if low == "me" else f"{self.inner}'s"

    def _capital(self, text: str) -> str:
        if text.startswith(self.inner):
            return self.name + text[len(self.inner) :]
        return text[:1].upper() + text[1:]


# What a statement is about, in one to four words.

_WORD = re.compile(r"[^\W\d_]{4,24}")
_EMPTY = frozenset(
    """
about after also always another around been before being both could does doing down each even every from have having
here into just like lots made make many more most much must myself never often only other over really same should since
some such than that their them then there these they thing things this those through under until very well were what
when where which while will with would your years year time week weeks month months days user's user themselves
""".split()
)


def tags_of(topic: str, text: str) -> tuple[str, ...]:
    """The topic and up to three words of `text` that tell something."""
    words = [word.lower() for word in _WORD.findall(text)]
    found = dict.fromkeys(word for word in words if word not in _EMPTY and word != topic)
    return (topic, *list(found)[:3])
