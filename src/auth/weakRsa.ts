/**
 * Moduli of the ROCA kind (CVE-2017-15361) can be factored: their primes are powers of 65537 modulo small primes, so
 * the modulus is one too. A good modulus passes all these tests by chance less than once in 2⁵⁰ keys.
 */
const primes = [
  3, 5, 7, 11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157, 167,
] as const;

const powers = primes.map((prime) => {
  const seen = new Set<number>();
  for (let value = 1; !seen.has(value); value = (value * 65_537) % prime) seen.add(value);
  return seen;
});

export const isRoca = (modulus: bigint): boolean =>
  primes.every((prime, i) => powers[i]?.has(Number(modulus % BigInt(prime))) ?? false);
