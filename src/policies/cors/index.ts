import type { HeaderLine, Reply } from '../../http/index.ts';
import { tokenPattern } from '../fields/httpText.ts';
import type { Exchange, Policy } from '../policy.ts';
import { originTest } from '../fields/origins.ts';
import { corsSchema, type CorsSettings } from './facts.ts';

/** The answer to a preflight depends on all three (Fetch standard, "CORS protocol and HTTP caches"). */
const preflightVary = 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers';

export const cors: Policy<CorsSettings> = {
  schema: corsSchema,
  prepare(settings) {
    const allowed = originTest(settings.allowOrigins);
    const expose = settings.exposeHeaders.join(', ');

    /** Marks the answer, errors of later policies included, so that the page can read it. */
    function mark(exchange: Exchange, origin: string | undefined): void {
      const { responseHeaders } = exchange;
      responseHeaders.add('vary', 'Origin');
      // The policy decides for the route: what the backend says about other origins is not passed on.
      responseHeaders.remove('access-control-allow-origin');
      responseHeaders.remove('access-control-allow-credentials');
      if (origin === undefined || !allowed(origin.toLowerCase())) return;
      responseHeaders.set('access-control-allow-origin', origin);
      if (settings.allowCredentials) responseHeaders.set('access-control-allow-credentials', 'true');
      if (expose !== '') responseHeaders.set('access-control-expose-headers', expose);
    }

    return {
      onRequest(exchange) {
        const origin = exchange.request.header('origin');
        if (exchange.request.method === 'OPTIONS' && origin !== undefined) {
          const method = exchange.request.header('access-control-request-method');
          // As in the format: an allowed origin is told what it may do, also where it does not ask for a method.
          if (allowed(origin.toLowerCase())) return preflight(exchange, settings, origin, method);
          if (method !== undefined) return refusedPreflight;
        }
        mark(exchange, origin);
        return undefined;
      },
    };
  },
};

/** As other gateways do: 200 without a word about the origin; the browser draws the conclusion. */
const refusedPreflight: Reply = { status: 200, headers: [['vary', preflightVary]] };

function preflight(
  exchange: Exchange,
  settings: CorsSettings,
  origin: string,
  method: string | undefined,
): Reply {
  const headers: HeaderLine[] = [
    ['access-control-allow-origin', origin],
    ['vary', preflightVary],
  ];
  const asked = exchange.request.header('access-control-request-headers') ?? '';
  const methods = settings.allowMethods.includes('*') ? [method ?? ''] : settings.allowMethods;
  const names = settings.allowHeaders.includes('*') ? asked.split(',') : settings.allowHeaders;
  // The echoed text comes from the client: only tokens go back.
  headers.push(...list('access-control-allow-methods', methods));
  headers.push(...list('access-control-allow-headers', names));
  // Browsers read it on the answer itself; some programs look for it here (Gateway API, HTTPCORSFilter).
  headers.push(...list('access-control-expose-headers', settings.exposeHeaders));
  if (settings.allowCredentials) headers.push(['access-control-allow-credentials', 'true']);
  if (settings.maxAge !== undefined) headers.push(['access-control-max-age', String(settings.maxAge)]);
  return { status: 200, headers };
}

function list(name: string, values: readonly string[]): HeaderLine[] {
  const tokens = values.map((value) => value.trim()).filter((value) => tokenPattern.test(value));
  return tokens.length === 0 ? [] : [[name, tokens.join(', ')]];
}
