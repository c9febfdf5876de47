import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { describeFiles, type DescribedFiles } from './referencedFiles.ts';

const operation = (ref: string): string =>
  JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Pets', version: '1' },
    paths: {
      '/pets': {
        post: {
          operationId: 'add',
          requestBody: { content: { 'application/json': { schema: { $ref: ref } } } },
        },
      },
    },
  });

interface Stage {
  readonly folder: string;
  write(files: Readonly<Record<string, string>>): void;
  describe(main?: string): DescribedFiles;
}

function stage(t: TestContext): Stage {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'portcullis-references-')));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['api', 'shared']) mkdirSync(join(folder, name));
  return {
    folder,
    write: (files) => {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), text);
      }
    },
    describe: (main = 'api/main.json') =>
      describeFiles(join(folder, main), [join(folder, 'api'), join(folder, 'shared')], {}),
  };
}

test('references lead through files of the named folders, also in circles', (t) => {
  const { folder, write, describe } = stage(t);
  write({
    'api/main.json': operation('../shared/pet.yaml#/components/schemas/Pet'),
    'shared/pet.yaml': [
      'components:',
      '  schemas:',
      '    Pet:',
      '      type: object',
      '      properties:',
      '        name: &name {$ref: "#/components/schemas/Name"}',
      '        nick: *name',
      '        owner: {$ref: "people/owner.json"}',
      '    Name: {type: string, minLength: 3}',
    ].join('\n'),
    'shared/people/owner.json':
      '{"type":"object","properties":{"pets":{"type":"array","items":{"$ref":"../pet.yaml#/components/schemas/Pet"}}}}',
  });
  const { api, files } = describe();
  assert.deepEqual(files, [join(folder, 'shared/pet.yaml'), join(folder, 'shared/people/owner.json')]);
  const schema = JSON.stringify(api.operations[0]?.tool['inputSchema']);
  assert.match(schema, /"Name":\{"type":"string","minLength":3\}/);
  assert.match(schema, /"name":\{"\$ref":"#\/\$defs\/Name"\},"nick":\{"\$ref":"#\/\$defs\/Name"\}/);
  assert.match(schema, /"pets":\{"type":"array","items":\{"\$ref":"#\/\$defs\/Pet"\}\}/);
  assert.doesNotMatch(schema, /x-portcullis|shared/);
});

test('a whole path may stand in another file', (t) => {
  const { write, describe } = stage(t);
  const paths = { '/pets': { $ref: 'pets.yaml' }, '/toys': { $ref: 'pets.yaml' } };
  write({
    'api/main.json': JSON.stringify({ openapi: '3.0.3', info: { title: 'T', version: '1' }, paths }),
    'api/pets.yaml':
      'get: {parameters: [{$ref: "#/limit"}]}\nlimit: {name: limit, in: query, schema: {type: integer}}',
  });
  const { api } = describe();
  assert.deepEqual(
    api.operations.map(({ tool, parameters }) => [tool.name, parameters.map(({ name }) => name)]),
    [
      ['get_pets', ['limit']],
      ['get_toys', ['limit']],
    ],
  );
});

test('a reference out of the named folders is refused, by whatever way it leads there', (t) => {
  const { folder, write, describe } = stage(t);
  write({ 'secret.json': '{"type":"string"}', 'api/x.json': '{"type":"string"}' });
  symlinkSync('../secret.json', join(folder, 'api/link.json'));
  symlinkSync('..', join(folder, 'api/up'));
  const out = /leads out of the folders of `references`/;
  for (const ref of [
    '../secret.json',
    '%2e%2e/secret.json',
    'link.json',
    'up/secret.json',
    `file://${folder}/secret.json`,
    'file:///etc/passwd',
    'https://schemas.example.com/pet.json',
    'data:application/json,{}',
  ]) {
    write({ 'api/main.json': operation(ref) });
    assert.throws(() => describe(), out, ref);
  }
  for (const [ref, why] of [
    ['none.json', /leads to no file/],
    ['..%2fsecret.json', /cannot be followed/],
    ['file://other/etc/passwd', /cannot be followed/],
    ['x.json#pet', /names an anchor/],
    ['x.json#/none', /leads to nothing/],
    ['//[', /is no URL/],
  ] as const) {
    write({ 'api/main.json': operation(ref) });
    assert.throws(() => describe(), why, ref);
  }
  write({ 'api/main.json': operation('x.json'), 'api/x.json': '{"$ref":"../secret.json"}' });
  assert.throws(() => describe(), out);
});

test('all documents together have the limits of one', (t) => {
  const { write, describe } = stage(t);
  const one = JSON.stringify({ type: 'string', description: 'x'.repeat(400) });
  write({ 'api/main.json': operation('x.json'), 'api/x.json': one });
  const before = process.env['MAX_FILE_BYTES'];
  t.after(() => {
    if (before === undefined) delete process.env['MAX_FILE_BYTES'];
    else process.env['MAX_FILE_BYTES'] = before;
  });
  process.env['MAX_FILE_BYTES'] = '500';
  assert.throws(() => describe(), /the files that it refers to are over 500 bytes/);
  process.env['MAX_FILE_BYTES'] = '1000';
  assert.equal(describe().files.length, 1);
  process.env['MAX_FILE_BYTES'] = '1000000';
  for (let i = 0; i < 70; i++) write({ [`api/${i}.json`]: `{"$ref":"${i + 1}.json"}` });
  write({ 'api/main.json': operation('0.json') });
  assert.throws(() => describe(), /more than 64 documents/);
});
