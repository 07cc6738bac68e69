"""Pairs of names of which a person has said whether they mean the same: what likeness is measured on."""

from __future__ import annotations

SAME = """
Robert Brown | Bob Brown
William Stone | Bill Stone
Elizabeth Kim | Liz Kim
Michael Chen | Mike Chen
Katherine Lee | Kate Lee
Alexander Petrov | Sasha Petrov
James Hall | Jim Hall
Margaret Ross | Peggy Ross
Bob | Robert
Mike | Michael
Tony | Anthony
Alex | Alex Miller
Priya | Priya Raman
Berlin | Berlin Mitte
Postgres | Postgres Database
A. Miller | Alex Miller
J. Smith | John Smith
M. J. Watson | Mary Jane Watson
P Raman | Priya Raman
NYT | New York Times
WHO | World Health Organization
MIT | Massachusetts Institute Technology
Alexnader Miller | Alexander Miller
Katharina Schmidt | Katarina Schmidt
Priya Ramann | Priya Raman
San Fransisco | San Francisco
Kubernetes | Kubernets
Elasticsearch | Elastisearch
Massachusetts | Massachusets
Philadelphia | Philadephia
Stephanie Meyer | Stephany Meyer
Jonathan Reed | Jonathon Reed
Microsoft | Mircosoft
Terraform | Terrafrom
Anthropic | Antropic
Jürgen Müller | Jurgen Muller
José García | Jose Garcia
Zoë | Zoe
GitHub | Github
Git Hub | GitHub
node.js | NodeJS
Mem-Folio | memfolio
O'Brien | OBrien
Hewlett Packard | Hewlett-Packard
Dr Alex Miller | Alex Miller
Acme | Acme Corporation
"""
DIFFERENT = """
Maria | Mario
Julia | Julie
Alexa | Alexis
Daniel | Daniela
Martin | Marvin
Karen | Keren
Ethan | Nathan
Anna | Hannah
Robert Brown | Robert Green
Robert Brown | Bob Green
Alex Miller | Alex Muller Jensen
Alex Miller | Sam Miller
A. Miller | Sam Miller
Python 2 | Python 3
GPT-4 | GPT-5
Room 101 | Room 110
Sprint 12 | Sprint 13
2025 budget | 2026 budget
C | C++
C++ | C#
Java | JavaScript
React | Redux
Acme Berlin | Acme Boston
Paris | Parma
Austria | Australia
Iran | Iraq
Niger | Nigeria
Slovakia | Slovenia
North Carolina | South Carolina
East Berlin | West Berlin
Project Apollo | Project Atlas
frontend | backend
staging cluster | staging database
Bill | Will Smith
Sam | Pam
Ted | Ned
Kim | Tim
NASA | NATO
MIT | MIA
MongoDB | MariaDB
Lisa Chen | Lina Chen
Erik Larsen | Eric Larson
Mark Twain | Mary Twain
team-alpha | team-alpine
Alice | Alicia
Bernard | Bernardo
Carl | Carla
Henry | Henri
"""

LATER_SAME = """
Thomas Nguyen | Tom Nguyen
Jennifer Adams | Jenny Adams
Nick Cole | Nicholas Cole
Sue Park | Susan Park
Charlie | Charles
Steve | Steven
R. Gupta | Rahul Gupta
E. M. Forster | Edward Morgan Forster
Rahul | Rahul Gupta
Fatima | Fatima Noor
FBI | Federal Bureau of Investigation
EU | European Union
Prometheus | Promethues
Christopher Lang | Cristopher Lang
Mississippi | Missisippi
Cloudflare | Cloudfare
Postgresql | Postgressql
Björk | Bjork
São Paulo | Sao Paulo
type script | TypeScript
Scikit-learn | scikit learn
Deutsche Bahn | Deutsche Bhan
Raspberry Pi | Rasberry Pi
Professor Lang | Lang
Tensorflow | Tensorflow Library
Guillermo Ortiz | Gullermo Ortiz
"""
LATER_DIFFERENT = """
Joan | John
Christian | Christina
Olivia | Oliver
Ivan Petrov | Igor Petrov
Steven King | Stephen Kong
Laura Bauer | Laura Brauer
Hansen | Jansen
Marina | Martina
Hamburg | Homburg
Colombia | Columbia
Georgia | Georgina
Redis | Reddit
Docker | Docket
Vue 2 | Vue 3
Phase 1 | Phase 2
Django | Flask
Tom Nguyen | Tom Adams
Big Data | Big Date
Ben | Bern
Kafka | Kavka
Elena Rossi | Elena Russo
Frankfurt Oder | Frankfurt Main
Angular | AngularJS
New Mexico | Mexico
The Hague | The Hangar
Anders Berg | Andrea Berg
"""
"""Judged once the rules were settled, and no rule was changed for them: what to expect of names never seen."""


def read(text: str) -> list[tuple[str, str]]:
    pairs = (line.split(" | ") for line in text.strip().splitlines())
    return [(one, other) for one, other in pairs]
