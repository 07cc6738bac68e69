-- What a listener hears: views take the place of the tables, so that no statement can forget to ask.
--
-- Of memories, that is what is for everybody or for them, was said in a session in which they spoke, or in a room that
-- they were in. Passages of pages, entities, facts and records are made of what several people said: once there is
-- something that the listener may not hear, they hear none of these.

CREATE TEMP VIEW attended AS SELECT session FROM main.memories WHERE user = {listener} AND session IS NOT NULL;
CREATE TEMP VIEW entered AS SELECT audience FROM main.memories WHERE user = {listener} AND audience GLOB 'room:*';
CREATE TEMP VIEW unheard AS SELECT 1 FROM main.memories WHERE (audience < {listener} OR audience > {listener})
    AND NOT ifnull(session IN attended OR audience IN entered, 0);

CREATE TEMP VIEW memories AS SELECT * FROM main.memories WHERE (form = 'memory' OR NOT EXISTS (SELECT 1 FROM unheard))
    AND (audience IS NULL OR audience = {listener} OR session IN attended OR audience IN entered);
CREATE TEMP VIEW edges AS SELECT * FROM main.edges t WHERE NOT EXISTS (SELECT 1 FROM unheard)
    OR EXISTS (SELECT 1 FROM memories h WHERE h.id = t.source)
    AND EXISTS (SELECT 1 FROM memories h WHERE h.id = t.target);
CREATE TEMP VIEW states AS SELECT * FROM main.states t WHERE NOT EXISTS (SELECT 1 FROM unheard)
    OR EXISTS (SELECT 1 FROM memories h WHERE h.id = t.memory)
    OR op = 'context' AND json_extract(line, '$.user') = {listener};

CREATE TEMP VIEW mentions AS SELECT * FROM main.mentions t WHERE NOT EXISTS (SELECT 1 FROM unheard)
    OR EXISTS (SELECT 1 FROM memories h WHERE h.row = t.row);
CREATE TEMP VIEW tags AS SELECT * FROM main.tags t WHERE NOT EXISTS (SELECT 1 FROM unheard)
    OR EXISTS (SELECT 1 FROM memories h WHERE h.row = t.row);
CREATE TEMP VIEW facts AS SELECT * FROM main.facts t WHERE NOT EXISTS (SELECT 1 FROM unheard)
    OR EXISTS (SELECT 1 FROM memories h WHERE h.row = t.row);

CREATE TEMP VIEW entities AS SELECT * FROM main.entities WHERE NOT EXISTS (SELECT 1 FROM unheard);
CREATE TEMP VIEW names AS SELECT * FROM main.names WHERE NOT EXISTS (SELECT 1 FROM unheard);
CREATE TEMP VIEW fact_history AS SELECT * FROM main.fact_history WHERE NOT EXISTS (SELECT 1 FROM unheard);
CREATE TEMP VIEW derived AS SELECT * FROM main.derived WHERE NOT EXISTS (SELECT 1 FROM unheard);
CREATE TEMP VIEW records AS SELECT * FROM main.records WHERE NOT EXISTS (SELECT 1 FROM unheard);
CREATE TEMP VIEW gists AS SELECT * FROM main.gists WHERE NOT EXISTS (SELECT 1 FROM unheard);
