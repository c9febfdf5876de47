import { area, gatewayApi, ours, rfc, type Requirement } from './requirement.ts';

const page = ours('docs/configuration.md');
const fetchStandard = 'https://fetch.spec.whatwg.org/#http-cors-protocol';
const cors = 'src/policies/cors/cors.test.ts';
const headers = 'src/policies/headerModifier/headerModifier.test.ts';
const direct = 'src/policies/directResponse/directResponse.test.ts';
const table = 'src/policies/index.test.ts';

/** The other decisions and changes on the way. */
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
      'request headers are added, set and removed, in this order',
      page,
      [headers, 'request headers are added, then set, then removed'],
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
      [headers, 'names and values that could start another header or message are rejected'],
    ],
  ]),
  ...area('direct-response', [
    [
      'fixed',
      'a route may answer by itself',
      page,
      [direct, 'a fixed body is sent as text, or with the type of its header'],
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
      ['src/policies/timeout/timeout.test.ts', 'only configured limits are set, in milliseconds'],
      [
        'src/policies/timeout/timeout.test.ts',
        'a timeout of nothing, of another form or under another name is refused',
      ],
    ],
  ]),
  ...area('redirect', [
    [
      'address',
      'a redirect says where to ask instead, with prefixes replaced by whole segments',
      gatewayApi('reference/api-spec/main/spec/#httprequestredirectfilter'),
      ['src/policies/requestRedirect/requestRedirect.test.ts', 'a prefix is replaced by whole segments'],
    ],
    [
      'host',
      'no redirect leads to another host by accident',
      rfc(9110, '10.2.2'),
      [
        'src/policies/requestRedirect/requestRedirect.test.ts',
        'without a host the address is relative, and never one of another host',
      ],
    ],
  ]),
  ...area('rewrite', [
    [
      'path',
      'the backend is asked for another path, the query stays',
      gatewayApi('reference/api-spec/main/spec/#httpurlrewritefilter'),
      [
        'src/policies/urlRewrite/urlRewrite.test.ts',
        'the path is replaced as a whole or by its prefix, and the query stays',
      ],
    ],
    [
      'host',
      'the backend gets another host',
      gatewayApi('reference/api-spec/main/spec/#httpurlrewritefilter'),
      [
        'src/proxy/routing/rewrittenHost.test.ts',
        'the host for a backend is rewritten as a whole, by host or by port',
      ],
    ],
  ]),
  ...area('basic-auth', [
    [
      'right',
      'the right password lets in, and is not forwarded',
      rfc(7617, '2'),
      [
        'src/policies/basicAuth/basicAuth.test.ts',
        'a user with the right password comes in, and the backend does not get the password',
      ],
    ],
    [
      'alike',
      'unknown users and wrong passwords cannot be told apart',
      rfc(7617, '4'),
      [
        'src/policies/basicAuth/basicAuth.test.ts',
        'wrong passwords, unknown users and malformed credentials are refused alike',
      ],
    ],
    [
      'guessing',
      'guessing is slowed down',
      ours('docs/policies/basicAuth.md'),
      [
        'src/policies/basicAuth/basicAuth.test.ts',
        'a client that fills its share of the queue is sent away, and a right password from elsewhere is checked next',
      ],
    ],
    [
      'hashes',
      'hashes of htpasswd are understood',
      ours('docs/policies/basicAuth.md'),
      [
        'src/policies/basicAuth/checkPassword.test.ts',
        'the schemes of crypt agree with those of OpenSSL, at every length that matters',
      ],
    ],
  ]),
  ...area('api-key', [
    [
      'known',
      'a known key lets in, and is not forwarded',
      ours('docs/policies/apiKey.md'),
      [
        'src/policies/apiKey/apiKey.test.ts',
        'a key that is written or given by its digest lets its holder in, and the backend does not get it',
      ],
    ],
    [
      'secret',
      'settings hold no key',
      ours('docs/policies/apiKey.md'),
      ['src/policies/apiKey/apiKey.test.ts', 'checked settings hold no key'],
    ],
    [
      'session',
      'sessions belong to the key that opened them',
      ours('docs/policies/apiKey.md'),
      [
        'src/proxy/exchange/callers.test.ts',
        'a session belongs to the API key and the user that were proven, not only to a token',
      ],
    ],
  ]),
  ...area('rate-limit', [
    [
      'bucket',
      'a bucket limits and says where the client stands',
      rfc(6585, '4'),
      [
        'src/policies/localRateLimit/localRateLimit.test.ts',
        'a bucket allows its tokens, then 429, and each response reports the remaining tokens',
      ],
    ],
    [
      'keys',
      'keys have buckets of their own, in bounded memory',
      ours('docs/policies/localRateLimit.md'),
      [
        'src/policies/localRateLimit/localRateLimit.test.ts',
        'beyond the number of keys the bucket that was not used for longest is forgotten',
      ],
    ],
    [
      'replicas',
      'replicas count a global limit together and exactly, and by themselves while the store cannot',
      ours('docs/store.md'),
      [
        'src/policies/localRateLimit/storedTokens.test.ts',
        'replicas that draw at the same time get exactly the tokens of a limit',
      ],
      [
        'src/policies/localRateLimit/storedTokens.test.ts',
        'replicas count locally while the store is lost, and together again when it is back, empty',
      ],
      ['src/policies/localRateLimit/storedTokens.test.ts', 'replicas count locally while the store is full'],
      [
        'src/store/redisStore.test.ts',
        'a server that does not answer costs one time-out, and the scripts after it none',
      ],
      [
        'test/e2e/store.test.ts',
        'gateways start and serve without the store, and count together once it is up',
      ],
    ],
  ]),
  ...area('backend-auth', [
    [
      'passthrough',
      'only a verified token is sent on',
      ours('docs/policies/backendAuth.md'),
      [
        'src/policies/backendAuth/backendAuth.test.ts',
        'the token that goes on is the one that was verified, and no other',
      ],
    ],
    [
      'place',
      'clients have no say about what the backend trusts',
      ours('docs/policies/backendAuth.md'),
      [
        'src/policies/backendAuth/backendAuth.test.ts',
        'a key may go into another header, a cookie or the query, where the client has no say',
      ],
    ],
    [
      'azure',
      'the backend gets a token of Azure',
      ours('docs/policies/backendAuth.md'),
      [
        'src/proxy/forward/azureCredentials.test.ts',
        'an application with a secret gets one token for all callers, in place of their own tokens',
      ],
    ],
    [
      'aws',
      'the backend gets requests signed for AWS',
      ours('docs/policies/backendAuth.md'),
      [
        'src/proxy/forward/awsSignatures.test.ts',
        'the signature fits what the service receives: query, body, and fields of the client',
      ],
    ],
    [
      'gcp',
      'the backend gets a token of Google Cloud',
      ours('docs/policies/backendAuth.md'),
      [
        'src/proxy/forward/gcpCredentials.test.ts',
        'a service account gets one access token for all callers, in place of their own tokens',
      ],
    ],
  ]),
  ...area('retry', [
    [
      'again',
      'failed requests are tried again, with their body',
      ours('docs/policies/retry.md'),
      [
        'src/proxy/forward/retry.test.ts',
        'a body is sent again as it came, in one piece or in many, chunked or not',
      ],
    ],
    [
      'harm',
      'what may not be done twice is not',
      rfc(9110, '9.2.2'),
      [
        'src/proxy/forward/retry.test.ts',
        'a connection that breaks before an answer is tried again where that does no harm',
      ],
    ],
    [
      'budget',
      'tries do not multiply the load of a failing backend',
      gatewayApi('geps/gep-3388/'),
      [
        'src/proxy/forward/retry.test.ts',
        'the budget ends further tries, and the answer that there is goes to the client',
      ],
    ],
  ]),
  ...area('mirror', [
    [
      'copy',
      'a mirror gets the same request, the client no answer of it',
      gatewayApi('reference/api-spec/main/spec/#httprequestmirrorfilter'),
      [
        'src/proxy/forward/mirror.test.ts',
        'a copy with head and body goes to the mirror, and its response is ignored',
      ],
    ],
    [
      'slow',
      'a slow mirror slows nobody down',
      gatewayApi('reference/api-spec/main/spec/#httprequestmirrorfilter'),
      [
        'src/proxy/forward/mirror.test.ts',
        'a stalled mirror does not slow requests down, and its queue is bounded',
      ],
    ],
  ]),
  ...area('buffer', [
    [
      'request',
      'gathered requests reach the backend whole or not at all',
      ours('docs/policies/buffer.md'),
      [
        'src/proxy/exchange/buffer.test.ts',
        'a larger request is refused with 413 and never reaches the backend',
      ],
    ],
    [
      'response',
      'gathered answers reach the client whole or not at all',
      ours('docs/policies/buffer.md'),
      [
        'src/proxy/exchange/buffer.test.ts',
        'an answer that breaks off while it is gathered is an error and no half answer, and may be tried again',
      ],
    ],
  ]),
  ...area('fault', [
    [
      'delay',
      'requests are held for a while',
      ours('docs/policies/delay.md'),
      [
        'src/policies/delay/delay.test.ts',
        'an expression decides for each request how long, and for nothing it does not even wait',
      ],
    ],
    [
      'abort',
      'requests are answered with an error',
      ours('docs/policies/abort.md'),
      [
        'src/policies/abort/abort.test.ts',
        'a request is answered with the status, and the log tells it from a real failure',
      ],
    ],
  ]),
];
