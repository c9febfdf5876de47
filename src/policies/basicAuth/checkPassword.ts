import { hash, timingSafeEqual } from 'node:crypto';
import { compareSync } from 'bcryptjs';
import { md5Crypt } from './md5Crypt.ts';
import { shaCrypt } from './shaCrypt.ts';

/** Schemes of htpasswd. Each takes its time, which is the point of them: not for the thread that serves requests. */
interface Scheme {
  readonly pattern: RegExp;
  /** Scheme and cost: hashes of one kind take the same time. */
  readonly kind: (parts: readonly string[]) => string;
  /** The reason why a hash that fits the pattern is refused. */
  readonly problem?: (parts: readonly string[]) => string | undefined;
  readonly check: (password: string, written: string, parts: readonly string[]) => boolean;
}

/** About a second of work; more would let a few guesses keep the checker busy. */
const maxBcryptCost = 14;
const maxRounds = 500_000;
const defaultRounds = 5_000;

const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

const schemes: readonly Scheme[] = [
  {
    pattern: /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/,
    kind: ([, cost]) => `bcrypt of cost ${Number(cost)}`,
    problem: ([, cost]) =>
      Number(cost) < 4 || Number(cost) > maxBcryptCost
        ? `bcrypt with a cost outside 4–${maxBcryptCost}`
        : undefined,
    check: (password, written) => compareSync(password, written),
  },
  {
    pattern: /^(\$apr1\$|\$1\$)([^$:]{1,8})\$([./A-Za-z0-9]{22})$/,
    kind: () => 'MD5-crypt',
    check: (password, _written, [, magic, salt = '', digest = '']) =>
      same(md5Crypt(Buffer.from(password), magic === '$1$' ? '$1$' : '$apr1$', salt), digest),
  },
  {
    pattern:
      /^\$([56])\$(?:rounds=(\d{4,9})\$)?([./A-Za-z0-9]{1,16})\$([./A-Za-z0-9]{43}|[./A-Za-z0-9]{86})$/,
    kind: ([, digest, rounds]) =>
      `SHA-${digest === '5' ? '256' : '512'}-crypt of ${Number(rounds ?? defaultRounds)} rounds`,
    problem: ([, , rounds]) =>
      rounds !== undefined && (Number(rounds) < 1000 || Number(rounds) > maxRounds)
        ? `rounds outside 1000–${maxRounds}`
        : undefined,
    check: (password, _written, [, kind, rounds, salt = '', digest = '']) =>
      same(
        shaCrypt(Buffer.from(password), kind === '5' ? 5 : 6, salt, Number(rounds ?? defaultRounds)),
        digest,
      ),
  },
  {
    pattern: /^\{SHA\}([A-Za-z0-9+/]{27}=)$/,
    kind: () => '{SHA}',
    check: (password, _written, [, digest = '']) => same(hash('sha1', password, 'base64'), digest),
  },
];

/** The reason why a hash of an htpasswd file cannot be used; undefined if it can. Nothing of the hash is quoted. */
export function hashProblem(written: string): string | undefined {
  for (const { pattern, problem } of schemes) {
    const parts = pattern.exec(written);
    if (parts !== null) return problem?.(parts);
  }
  return 'expected a hash of bcrypt, apr1 (MD5), SHA-256-crypt, SHA-512-crypt or {SHA}; crypt(3) and plain text are not accepted';
}

/** Scheme and cost of a hash, such as `bcrypt of cost 10`; two hashes of one kind take the same time. */
export function hashKind(written: string): string {
  for (const { pattern, kind } of schemes) {
    const parts = pattern.exec(written);
    if (parts !== null) return kind(parts);
  }
  return 'unknown';
}

/** Does the password belong to the hash? False for a hash of an unknown kind. */
export function checkPassword(password: string, written: string): boolean {
  for (const { pattern, check } of schemes) {
    const parts = pattern.exec(written);
    if (parts !== null) return check(password, written, parts);
  }
  return false;
}
