import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hideTokens } from './compactTokens.ts';

const header = 'eyJhbGciOiJSUzI1NiJ9';
const claims = 'eyJzdWIiOiJhIn0';
const token = `${header}.${claims}.c2ln`;
const hidden = (text: string): string => hideTokens(text, '#');

test('a token is hidden wherever it stands, also behind other characters of tokens', () => {
  const shown = {
    [token]: '#',
    [`x=${token}`]: 'x=#',
    [`key-${token}`]: 'key-#',
    [`/x/${token}/y z`]: '/x/# z',
    [`a+=/-${token};y`]: 'a+=/-#;y',
    [`ey-ey-${token}`]: '#',
    [`a-ey.key-${token}`]: 'a-ey.key-#',
    [`a.b.c.d.e.f.${token}`]: 'a.b.c.d.e.f.#',
    [`"${token}","${token}"`]: '"#","#"',
    [`é${token}`]: 'é#',
    [`${header}..${'iv'}.text.tag`]: '#',
    [`${header}...`]: '#',
    [`${header}.a.b.c.d.e.${token}`]: '#.e.#',
    [`ewogICJhbGciOiJSUzI1NiJ9.${claims}.c2ln`]: '#',
  };
  for (const [text, expected] of Object.entries(shown)) assert.equal(hidden(text), expected, text);
});

test('texts that only resemble a token stay', () => {
  const texts = [
    'eyebrow.example.com',
    'keys.example.com',
    'host.eyJ.example',
    header,
    `${header}.${claims}`,
    `${header} .a.b`,
    `x${token}`,
  ];
  for (const text of texts) assert.equal(hidden(text), text);
});
