import { area, ours, rfc, type Requirement } from './requirement.ts';

const page = ours('docs/configuration.md');
const fetchStandard = 'https://fetch.spec.whatwg.org/#http-cors-protocol';
const cors = 'src/policies/cors/cors.test.ts';
const headers = 'src/policies/headerModifier/headerModifier.test.ts';
const direct = 'src/policies/directResponse/directResponse.test.ts';
const table = 'src/policies/index.test.ts';

/** What else is decided and changed on the way. */
export const policies: readonly Requirement[] = [
  ...area('policy', [
    [
      'order',
      'policies run in the documented order',
      page,
      [table, 'policies act in the order of the documented pipeline'],
    ],
    [
      'schema',
      'every field is described and unknown ones are refused',
      page,
      [table, 'every field of every policy is described, and unknown fields are refused'],
    ],
    [
      'data',
      'settings travel as JSON',
      ours('ARCHITECTURE.md'),
      [table, 'checked settings survive JSON, because the model travels as JSON'],
    ],
  ]),
  ...area('cors', [
    [
      'preflight',
      'a preflight is answered and never forwarded',
      fetchStandard,
      [cors, 'a preflight of an allowed origin is answered with 200 and never forwarded'],
    ],
    [
      'foreign',
      'another origin learns nothing',
      fetchStandard,
      [cors, 'a preflight of another origin is answered with 200 and no word about it'],
    ],
    [
      'vary',
      'answers depend on the origin and say so',
      fetchStandard,
      [
        cors,
        'an answer to an allowed origin is marked, one to another is not, and both depend on the origin',
      ],
    ],
    [
      'own',
      'the policy decides, not the backend',
      page,
      [cors, 'the policy, not the backend, says what an origin may read'],
    ],
    [
      'wildcard',
      'wildcards do not reach neighbours',
      page,
      [cors, 'wildcards stand for names below a domain and for ports, and not for its neighbours'],
    ],
    [
      'credentials',
      'credentials are not opened to every site',
      fetchStandard,
      [cors, 'settings that would open credentials to every site, or that are no origins, are refused'],
    ],
  ]),
  ...area('headers', [
    [
      'request',
      'request headers are removed, set and added',
      page,
      [headers, 'request headers are removed, set and added to'],
    ],
    [
      'response',
      'response headers are changed',
      page,
      [headers, 'response headers are changed when the answer is known'],
    ],
    [
      'framing',
      'headers that frame the message cannot be touched',
      rfc(9110, '7.6.1'),
      [headers, 'fields that frame the message or belong to a connection cannot be touched'],
    ],
    [
      'injection',
      'no value begins another header',
      rfc(9110, '5.5'),
      [headers, 'what could begin another header or another message is no name and no value'],
    ],
  ]),
  ...area('direct-response', [
    [
      'fixed',
      'a route may answer by itself',
      page,
      [direct, 'a fixed body is sent as text, or as what its header says'],
    ],
    [
      'expressions',
      'the answer may be computed',
      page,
      [direct, 'expressions make body and headers from the request'],
    ],
  ]),
  ...area('timeout', [
    [
      'settings',
      'limits are what is written',
      page,
      [
        'src/policies/timeout/timeout.test.ts',
        'limits are set in milliseconds, and only those that are written',
      ],
      [
        'src/policies/timeout/timeout.test.ts',
        'a timeout of nothing, of another form or under another name is refused',
      ],
    ],
  ]),
];
