import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostnameMatches } from '../../model/index.ts';
import { HostSet } from './hostSet.ts';

const setOf = (...names: (string | undefined)[]): HostSet => {
  const set = new HostSet();
  for (const name of names) set.add(name);
  return set;
};

const names = [
  ...['a.example.com', 'b.a.example.com', 'example.com', 'com', 'a.example.org', 'xa.example.com'],
  ...['*.example.com', '*.a.example.com', '*.com', '*.b.a.example.com', '*.example.org', undefined],
];

/** Every host that could tell two of the names apart. */
const probes = names.flatMap((name) =>
  name === undefined ? ['z'] : [name.replace('*', 'x'), `y.${name.replace('*', 'x')}`],
);

const meet = (a: string | undefined, b: string | undefined): boolean =>
  probes.some((host) => hostnameMatches(a, host) && hostnameMatches(b, host));

test('names meet where a host belongs to both, whichever is asked for', () => {
  for (const held of names)
    for (const asked of names)
      assert.equal(setOf(held).meets(asked), meet(held, asked), `${held} and ${asked}`);
});

test('a name of the set meets others of it only if there are such', () => {
  for (const own of names) {
    assert.equal(setOf(own).meetsOther(own), false, `${own} alone`);
    for (const other of names)
      if (other !== own)
        assert.equal(setOf(own, other).meetsOther(own), meet(own, other), `${own} beside ${other}`);
  }
});

test('an empty set meets nothing', () => {
  for (const name of names) assert.equal(new HostSet().meets(name), false);
});
