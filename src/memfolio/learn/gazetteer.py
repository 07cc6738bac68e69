"""Words that name things: technologies, places, companies, first names, times, and capitals that name nothing."""

from __future__ import annotations

import re


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
