/**
 * Brings a path into one form for matching and for forwarding, so that no other spelling bypasses a rule:
 * percent-encoded unreserved characters are decoded and hex digits written in capitals (RFC 3986 §6.2.2), dot
 * segments removed (§5.2.4). An encoded slash stays encoded, duplicate slashes stay: both mean something to some
 * backends, and here they match only what is written like them.
 *
 * Some backends find a dot segment in what is none to others: before a path parameter (`/..;x/`), or beside a slash
 * that is encoded (`/..%2F`). Whoever sends that wants two readers to differ, so it is refused.
 *
 * @returns undefined for a path that is malformed, climbs above the root, hides a dot segment, or holds a control
 * character or backslash
 */
export function normalizePath(path: string): string | undefined {
  if (!suspicious.test(path)) return path;
  if (path.includes('\\')) return undefined;
  let bad = false;
  const decoded = path.replaceAll(/%(..?)?/g, (triplet: string, digits: string | undefined) => {
    const code = digits !== undefined && /^[0-9a-f]{2}$/i.test(digits) ? Number.parseInt(digits, 16) : -1;
    // NUL and the other controls have no business in a path; an encoded backslash is a slash to some backends.
    if (code < 32 || code === 127 || code === 92) bad = true;
    const character = String.fromCharCode(code);
    return unreserved.test(character) ? character : triplet.toUpperCase();
  });
  return bad || hidden.test(decoded) ? undefined : removeDotSegments(decoded);
}

const suspicious = /[%\\]|\/\./;
const hidden = /(?:\/|%2F)\.\.?(?:%2F|%3B|;)|%2F\.\.?(?:\/|$)/;
const unreserved = /^[A-Za-z0-9._~-]$/;

function removeDotSegments(path: string): string | undefined {
  if (!path.includes('/.')) return path;
  const kept: string[] = [];
  const segments = path.split('/');
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === '.') {
      if (last) kept.push('');
    } else if (segment === '..') {
      // The first segment is the empty one before the leading slash.
      if (kept.length <= 1) return undefined;
      kept.pop();
      if (last) kept.push('');
    } else kept.push(segment);
  }
  return kept.join('/');
}

/**
 * The other readings that backends may make of a normalised path: some merge slashes, some decode an encoded one,
 * some cut path parameters (`;…`), and some do several of these. None for a path that all read alike. The path is
 * never changed: whoever judges it judges each of its readings.
 * @returns undefined for a path of which some reading leaves the root, so that it has none
 */
export function otherReadings(path: string): readonly string[] | undefined {
  if (!severalReadings.test(path)) return noReadings;
  const readings = new Set<string>();
  const decoded = withSlashes(path);
  for (const cut of [path, decoded, withoutParameters(path), withoutParameters(decoded)])
    for (const read of [cut, withSlashes(cut)]) {
      readings.add(read).add(read.replaceAll(manySlashes, '/'));
    }
  readings.delete(path);
  const normal = Array.from(readings, (reading) => normalizePath(reading));
  return normal.every((reading) => reading !== undefined) ? normal : undefined;
}

const noReadings: readonly string[] = [];
const severalReadings = /\/\/|;|%2F|%3B/;
const manySlashes = /\/{2,}/g;
/** Encoded or not: a reader may decode first. */
const parameters = /(?:;|%3B)[^/]*/g;
const withSlashes = (path: string): string => path.replaceAll('%2F', '/');
const withoutParameters = (path: string): string => path.replaceAll(parameters, '');
