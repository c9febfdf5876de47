import assert from 'node:assert/strict';
import { test } from 'node:test';
import { undeclaredCapability, type QuestionMethod } from './clientQuestions.ts';

test('a client can answer the questions whose capabilities it declared', () => {
  const lacks = (capabilities: object, method: QuestionMethod, isUrl = false) =>
    undeclaredCapability(JSON.stringify(capabilities), method, isUrl);
  assert.equal(lacks({ elicitation: {} }, 'elicitation/create'), undefined);
  assert.deepEqual(lacks({ elicitation: {} }, 'elicitation/create', true), { elicitation: { url: {} } });
  assert.deepEqual(lacks({ elicitation: { url: {} } }, 'elicitation/create'), { elicitation: { form: {} } });
  assert.equal(lacks({ elicitation: { url: {} } }, 'elicitation/create', true), undefined);
  assert.equal(lacks({ elicitation: { form: {}, url: {} } }, 'elicitation/create'), undefined);
  assert.equal(lacks({ sampling: {} }, 'sampling/createMessage'), undefined);
  assert.deepEqual(lacks({ sampling: true }, 'sampling/createMessage'), { sampling: {} });
  assert.deepEqual(lacks({}, 'roots/list'), { roots: {} });
  assert.equal(lacks({ roots: {} }, 'roots/list'), undefined);
});
