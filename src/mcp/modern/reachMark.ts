import { cookiePairs, withoutParameters, type HeaderLine, type SentCredential } from '../../http/index.ts';
import type { Reach } from '../contract.ts';

type Places = readonly NonNullable<SentCredential['place']>[];

/**
 * Everything that tells a way to a server from the ways of other callers. A credential counts by its digest instead of
 * its text: the gateway renews some texts each second.
 */
export function markOf({ path, authority, headers, signer, credentials = [] }: Reach): readonly unknown[] {
  const places = credentials.flatMap(({ place }) => place ?? []);
  return [
    pathWithout(places, path),
    authority,
    headersWithout(places, headers),
    signer?.digest,
    credentials.map(({ place, digest }) => [place, digest]),
  ];
}

const namesAt = (places: Places, kind: Places[number]['kind']): readonly string[] =>
  places.flatMap((place) => (place.kind === kind ? [place.name] : []));

function pathWithout(places: Places, path: string): string {
  const names = namesAt(places, 'query');
  return withoutParameters(path, (pair) => names.some((name) => new URLSearchParams(pair).has(name)));
}

function headersWithout(places: Places, lines: readonly HeaderLine[]): readonly HeaderLine[] {
  const names = namesAt(places, 'header').map((name) => name.toLowerCase());
  const cookies = namesAt(places, 'cookie');
  const isCredential = (pair: string): boolean => cookies.includes(pair.slice(0, pair.indexOf('=')).trim());
  return lines
    .filter(([name]) => !names.includes(name))
    .map(([name, value]) => [
      name,
      name === 'cookie'
        ? cookiePairs(value)
            .filter((pair) => !isCredential(pair))
            .join('; ')
        : value,
    ]);
}
