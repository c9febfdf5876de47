import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Environment } from '../config/index.ts';
import { main } from './index.ts';

async function run(args: readonly string[], env: Environment = {}): Promise<{ code: number; err: string }> {
  let err = '';
  const code = await main(args, { out: () => undefined, err: (text) => (err += text), env });
  return { code, err };
}

const whole = ['proxy', '--controller=c:1', '--gateway=ns/gw', '--token-file=/t', '--ca-file=/c'];

test('everything that says where models come from is needed, as a flag or a variable', async () => {
  for (const name of ['controller', 'gateway', 'token-file', 'ca-file']) {
    const args = whole.filter((flag) => !flag.startsWith(`--${name}=`));
    const { code, err } = await run(args);
    assert.equal(code, 2);
    assert.ok(
      err.includes(`--${name} (or PORTCULLIS_${name.toUpperCase().replaceAll('-', '_')}) is required`),
      err,
    );
  }
});

test('the command reports wrong flags before it starts anything', async () => {
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['--controller=http://c:1'], 2, /http:\/\/c:1: expected host:port/],
    [['--controller=c:1,d:x'], 2, /d:x: expected host:port/],
    [['--controller=c:1/path'], 2, /expected host:port/],
    [['--gateway=gw'], 2, /--gateway: expected namespace\/name/],
    [['--gateway=ns/gw/x'], 2, /--gateway: expected namespace\/name/],
    [['--cache-key-file=/k'], 2, /requires --cache/],
    [['--stats=nowhere'], 1, /config\.statsAddr: expected off/],
    [['--workers=many'], 1, /config\.workers: expected auto/],
    [['--log-level=loud'], 1, /config\.logging\.level: /],
    [['--store=http://redis:6379'], 1, /config\.store\.redis\.url: /],
    [['--store-prefix=a:'], 1, /config\.store\.redis: expected either url or host/],
    [['--store-files=/nowhere'], 2, /--store-files requires --store/],
    [['--settings={'], 2, /--settings: .*JSON/],
    [['--settings=[]'], 2, /--settings: expected a JSON object/],
    [['--settings={"limits":{}}'], 2, /--settings: expected audit, tracing, logging, got limits/],
    [['--settings={"audit":{"sink":"tape"}}'], 1, /config\.audit\.sink: /],
    [['--audit-files=/nowhere'], 2, /--audit-files requires audit in --settings/],
    [['--tracing-headers=/nowhere'], 2, /--tracing-headers requires tracing in --settings/],
    [['--settings={"logging":{}}', '--log-headers=/nowhere'], 2, /requires logging\.otlp in --settings/],
    [['--settings={"audit":{"sink":"stdout"}}', '--audit-files=/nowhere/at-all'], 2, /ENOENT/],
    [['--store=redis://r', '--store-files=/nowhere/at-all'], 2, /--store-files \/nowhere\/at-all: .*ENOENT/],
  ];
  for (const [flags, code, why] of cases) {
    const outcome = await run([...whole, ...flags]);
    assert.equal(outcome.code, code, flags.join());
    assert.match(outcome.err, why);
  }
});

test('a flag wins over its variable', async () => {
  const env = { PORTCULLIS_GATEWAY: 'not a name', STATS_ADDR: 'nowhere', READINESS_ADDR: 'nowhere' };
  // The variable of the readiness port has no flag against it.
  const { code, err } = await run([...whole, '--stats=off'], env);
  assert.equal(code, 1);
  assert.match(err, /READINESS_ADDR/);
  assert.doesNotMatch(err, /STATS_ADDR|namespace/);
});

test('the certificate of a controller requires its key and its authority', async () => {
  for (const flags of [['--models-cert=/c'], ['--models-cert=/c', '--models-key=/k'], ['--models-ca=/a']]) {
    const { code, err } = await run(['controller', ...flags]);
    assert.equal(code, 2);
    assert.match(err, /--models-cert, --models-key and --models-ca must be given together/);
  }
  const { code, err } = await run(['controller', '--models=unix:/x']);
  assert.equal(code, 2);
  assert.match(err, /--models: expected ip:port/);
});
