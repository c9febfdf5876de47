import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskText } from './maskText.ts';

const masked = (text: string): string | undefined =>
  maskText(text, 'masked', {
    isSecretName: (name) => /password$|^authorization$/i.test(name),
    holdsSecret: (value) => value.includes('api_key='),
  });

test('values of secret fields are replaced where they stand, and everything else stays', () => {
  const text = `# kept
config: { session: { key: ${'ab'.repeat(32)} } } # kept, too
binds:
- port: 1
  listeners:
  - policies:
      apiKey:
        keys:
        - key: "one \\"quoted\\" key"
        - { key: $FROM_VARIABLE }
        - key: |
            several
            lines
          metadata: { team: a }
      authorization: { rules: ['jwt.sub == "a"'] }
    routes:
    - backends:
      - mcp: { targets: [{ name: a, stdio: { cmd: run, env: { PLAIN: x1y2z3, OTHER: '\${VAR}' } } }] }
`;
  assert.equal(
    masked(text),
    `# kept
config: { session: { key: "masked" } } # kept, too
binds:
- port: 1
  listeners:
  - policies:
      apiKey:
        keys:
        - key: "masked"
        - { key: $FROM_VARIABLE }
        - key: "masked"
          metadata: { team: "masked" }
      authorization: { rules: ['jwt.sub == "a"'] }
    routes:
    - backends:
      - mcp: { targets: [{ name: a, stdio: { cmd: run, env: { PLAIN: "masked", OTHER: '\${VAR}' } } }] }
`,
  );
});

test('a configuration that does not fit the schema is masked all the same', () => {
  const text = `config: { session: { key: short }, unknown: 1 }\nelsewhere: { my-password: hunter2 }\n`;
  assert.equal(
    masked(text),
    `config: { session: { key: "masked" }, unknown: 1 }\nelsewhere: { my-password: "masked" }\n`,
  );
});

test('a text that is no YAML is not shown', () => {
  assert.equal(masked('binds: [\n  key: secret'), undefined);
});

test('a text that gives a field twice is not shown, since the second value is no part of the configuration', () => {
  for (const field of ['key', '__proto__'])
    assert.equal(masked(`config: { session: { key: first, ${field}: second } }\n`), undefined, field);
});

test('a value that a merge brings and its map overrides is replaced, unless another field has it', () => {
  const text = `binds:
- port: 1
  listeners:
  - policies: &shared
      cors: { allowOrigins: [a] }
      apiKey: { keys: [{ key: one }] }
  - policies:
      <<: [*shared, { apiKey: { keys: [{ key: two }] } }]
      cors: { allowOrigins: [b] }
`;
  assert.equal(masked(text), text.replace('one', '"masked"').replace('two', '"masked"'));
});

test('a value that holds a secret is replaced as a whole', () => {
  assert.equal(
    masked("a: { host: 'http://h/mcp?api_key=opaque', port: 1 }\n"),
    'a: { host: "masked", port: 1 }\n',
  );
});
