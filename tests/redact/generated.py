"""Secrets made up by a fixed seed, each in a text as people paste them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

B62 = ascii_letters + digits
WORD = B62 + "_-"
HEX = "0123456789abcdef"
BASE64 = B62 + "+/"
FRAMES = (
    "Here is the one you asked for: {}",
    "I put {} into the settings, please don't share it.",
    "```python\nclient = Client('{}')\n```",
    "```sh\nexport THE_VALUE={}\n```",
    '{{"region": "eu", "value": "{}", "retries": 3}}',
    "VALUE={}\nDEBUG=1",
    "curl https://api.service.dev/v1/items?limit=5&auth={}",
    "<setting>{}</setting>",
    "- name: x\n  value: {}  # rotate in May",
    "({})",
)
"""What says nothing about what stands in it."""
PASSWORD_FRAMES = (
    "password = {}",
    "DB_PASSWORD={}",
    'password: "{}"',
    '{{"user": "ada", "password": "{}"}}',
    "The wifi password is {}",
    "my password for the router is {}, tell nobody",
    "```yaml\ndb:\n  passwd: '{}'\n```",
    "mysql -u root --password={} shop",
    "Server=db;User Id=sa;Pwd={};Database=shop",
    "Mein Passwort lautet {}",
    "<password>{}</password>",
    "login(user='ada', password='{}')",
)
SECRET_FRAMES = (
    "api_key = '{}'",
    "API_KEY={}",
    '{{"apiKey": "{}"}}',
    "aws_secret_access_key = {}",
    "The client secret is {}",
    "https://api.service.dev/items?page=2&access_token={}&limit=5",
    "Authorization: Bearer {}",
    "curl -H 'X-Api-Key: {}' https://api.service.dev",
    "TWILIO_AUTH_TOKEN: {}",
    "./deploy --token {} --dry-run",
    "SECRET_KEY_BASE={}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A secret, what kind it is, and the text around it."""

    kind: str
    secret: str
    text: str


class Maker:
    """Makes samples; the same seed makes the same."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def some(self, alphabet: str, size: int) -> str:
        return "".join(self.random.choices(alphabet, k=size))

    def base64(self, size: int) -> str:
        return base64.b64encode(self.random.randbytes(size)).decode()

    def jwt(self) -> str:
        parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": self.some(digits, 10), "name": "Ada", "iat": 1516239022})
        coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return ".".join([*coded, self.some(WORD, 43)])

    def password(self) -> str:
        """What a person chooses, or a program."""
        word = self.random.choice(["Blue", "otter", "Winter", "mango", "Tr0ub4dor", "s3cret", "Berlin"])
        chosen = f"{word}{self.random.choice('!#%&?_-')}{self.some(digits, 3)}{self.some(ascii_lowercase, 2)}"
        return self.random.choice([chosen, self.some(B62, 12) + "7x", self.some(B62 + "!#$%^*+", 14) + "4k"])

    def private_key(self) -> str:
        name = self.random.choice(["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"])
        body = self.base64(300)
        lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
        whole = f"-----BEGIN {name}-----\n{lines}\n-----END {name}-----"
        pgp = (
            f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n{lines}\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----"
        )
        head, tail = whole.rpartition("\n-----END")[0], whole.partition("-----\n")[2]
        return self.random.choice([whole, whole, pgp, head, tail, whole.replace("\n", "\\n")])

    def tokens(self) -> dict[str, str]:
        """One token of each form that is known without a name."""
        some = self.some
        return {
            "aws": self.random.choice(["AKIA", "ASIA"]) + some(ascii_uppercase + "234567", 16),
            "google": "AIza" + some(WORD, 35),
            "google-oauth": "ya29." + some(WORD, 120),
            "google-client": "GOCSPX-" + some(WORD, 28),
            "azure-client": f"{some(B62, 3)}8Q~{some(B62 + '_~.-', 33)}a",
            "github": f"gh{self.random.choice('pousr')}_{some(B62, 36)}",
            "github-fine": f"github_pat_{some(B62, 22)}_{some(B62, 59)}",
            "gitlab": "glpat-" + some(WORD, 20),
            "slack": f"xoxb-{some(digits, 12)}-{some(digits, 12)}-{some(B62, 24)}",
            "slack-user": f"xoxp-{some(digits, 11)}-{some(digits, 11)}-{some(HEX, 32)}",
            "stripe": f"{self.random.choice(['sk', 'rk'])}_live_{some(B62, 24)}",
            "openai": f"sk-proj-{some(WORD, 74)}T3BlbkFJ{some(WORD, 74)}",
            "openai-old": f"sk-{some(B62, 20)}T3BlbkFJ{some(B62, 20)}",
            "anthropic": f"sk-ant-api03-{some(WORD, 93)}AA",
            "npm": "npm_" + some(B62, 36),
            "pypi": "pypi-AgEIcHlwaS5vcmc" + some(WORD, 150),
            "twilio": "SK" + some(HEX, 32),
            "sendgrid": f"SG.{some(WORD, 22)}.{some(WORD, 43)}",
            "huggingface": "hf_" + some(ascii_letters, 34),
            "discord": f"M{some(B62, 25)}.{some(WORD, 6)}.{some(WORD, 38)}",
            "jwt": self.jwt(),
            "digitalocean": "dop_v1_" + some(HEX, 64),
            "shopify": "shpat_" + some(HEX, 32),
        }

    def samples(self) -> list[Sample]:
        """One sample of each kind."""
        pick = self.random.choice
        found = [self._framed(kind, token, pick(FRAMES)) for kind, token in self.tokens().items()]
        found += [self._framed("password", self.password(), pick(PASSWORD_FRAMES)) for _ in range(4)]
        bot = pick(FRAMES).replace("{}", f"{self.some('123456789', 10)}:{{}}")
        found.append(self._framed("telegram", f"AA{self.some(WORD, 33)}", bot))
        values = (self.some(HEX, 32), self.some(B62, 40), self.base64(30))
        found += [self._framed("named-secret", value, pick(SECRET_FRAMES)) for value in values]
        found.append(self._framed("private-key", self.private_key(), pick(["Use this:\n{}\nthanks", "```\n{}\n```"])))
        login = f"{pick(['postgres', 'mongodb+srv', 'redis', 'amqp', 'https'])}://app:{{}}@db-1.internal:5432/shop"
        found.append(self._framed("connection", self.some(B62 + "!$*-_", 12), login))
        header = base64.b64encode(f"ada:{self.some(B62, 12)}".encode()).decode()
        found.append(self._framed("basic-auth", header, "Authorization: Basic {}"))
        account = "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net"
        found.append(self._framed("azure-storage", self.base64(64), account))
        return [*found, self._split(pick(found))]

    def _framed(self, kind: str, secret: str, frame: str) -> Sample:
        return Sample(kind=kind, secret=secret, text=frame.format(secret))

    def _split(self, sample: Sample) -> Sample:
        """The same with something invisible in the middle of the secret."""
        half = len(sample.secret) // 2
        broken = f"{sample.secret[:half]}{self.random.choice('​‍⁠')}{sample.secret[half:]}"
        return Sample(kind="split", secret=sample.secret, text=sample.text.replace(sample.secret, broken))


def generated(count: int, seed: int = 20261115) -> list[Sample]:
    """So many samples, about as many of each kind."""
    maker = Maker(seed)
    found: list[Sample] = []
    while len(found) < count:
        found += maker.samples()
    return found[:count]
