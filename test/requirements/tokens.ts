import { area, mcp, ours, rfc, type Requirement } from './requirement.ts';

const page = ours('docs/configuration.md');
const promises = ours('SECURITY.md');
const verifier = 'src/auth/verifier.test.ts';
const publicKey = 'src/auth/publicKey.test.ts';
const keySets = 'src/auth/keySets.test.ts';
const metadata = 'src/auth/metadata.test.ts';
const jwt = 'src/policies/jwtAuth/jwtAuth.test.ts';
const authentication = 'src/policies/mcpAuthentication/mcpAuthentication.test.ts';
const rules = 'src/policies/rules/rules.test.ts';
const tokensE2e = 'test/e2e/tokens.test.ts';
const keysE2e = 'test/e2e/keys.test.ts';
const attributes = 'src/proxy/routing/attributes.test.ts';
const declared = 'src/policies/attributes/attributes.test.ts';
const cel = 'src/cel/cel.test.ts';

/** The identity of callers, and their rights. */
export const tokens: readonly Requirement[] = [
  ...area('token', [
    [
      'scheme',
      'the Bearer scheme is known in any case',
      rfc(9110, '11.1'),
      [jwt, 'the scheme is known in any case'],
      [tokensE2e, 'two Authorization headers are refused, whatever stands in them'],
    ],
    [
      'algorithms',
      'RS, PS, ES and EdDSA are verified',
      rfc(7518, '3.1'),
      [verifier, 'a good token of every algorithm is verified, and one changed bit of its signature is not'],
      [keysE2e, 'every family of algorithms is verified'],
    ],
    [
      'none',
      'none and HMAC are refused',
      rfc(8725, '3.2'),
      [verifier, 'none and the HMAC family are refused, also when the public key serves as the secret'],
    ],
    [
      'confusion',
      'the key decides the algorithm',
      rfc(8725, '3.1'),
      [verifier, 'the key decides the algorithm, not the token'],
    ],
    [
      'embedded-keys',
      'jku, jwk, x5u and x5c of a token are never used',
      rfc(8725, '3.10'),
      [verifier, 'keys that the token brings or points at are never used'],
    ],
    [
      'crit',
      'unknown critical headers are refused',
      rfc(7515, '4.1.11'),
      [verifier, 'crit and b64 are refused'],
    ],
    [
      'typ',
      'a token for something else is refused',
      rfc(8725, '3.11'),
      [
        verifier,
        'typ may be absent, JWT or at+jwt, in any case; anything else is a token for something else',
      ],
    ],
    [
      'kid',
      'the key is chosen by kid',
      rfc(7515, '4.1.4'),
      [verifier, 'a token without kid, with one that is no text, or with an unknown one is refused'],
    ],
    [
      'canonical',
      'only the canonical spelling of a token is accepted',
      rfc(7515, '2'),
      [verifier, 'only the one canonical spelling of a token is accepted'],
    ],
    [
      'size',
      'a token over the size limit is refused unread',
      promises,
      [verifier, 'a token over the size limit is refused before anything is decoded'],
    ],
    [
      'duplicates',
      'a name that stands twice is refused',
      rfc(7519, '4'),
      [verifier, 'header and claims must be JSON objects in which no name stands twice'],
    ],
    [
      'iss',
      'the issuer is compared exactly',
      rfc(7519, '4.1.1'),
      [verifier, 'iss must be exactly the text of the issuer'],
    ],
    [
      'aud',
      'the audience is a text or a list',
      rfc(7519, '4.1.3'),
      [verifier, 'aud is a text or a list of texts with one of ours'],
    ],
    [
      'times',
      'exp, nbf and iat count, with a small leeway',
      rfc(7519, '4.1.4'),
      [verifier, 'exp, nbf and iat are numbers and are compared with the leeway'],
    ],
    [
      'issuers',
      'the keys of one issuer do not vouch for another',
      rfc(9700, '4.4'),
      [verifier, 'the claim iss selects the issuer, and keys of another issuer verify nothing'],
    ],
    [
      'cache',
      'a remembered token ends with its exp and with its keys',
      promises,
      [verifier, 'a remembered token dies at its exp and when the keys change'],
      [metadata, 'the token cache keeps used tokens, and never more than two generations'],
    ],
    [
      'passthrough',
      'the token does not go on to the backend',
      mcp('2025-11-25', 'basic/authorization#token-handling'),
      [jwt, 'a good token gives the caller an identity, and the backend does not get the token'],
      [tokensE2e, 'lets a good token in, in any case of the scheme, and keeps it to itself'],
    ],
    [
      'query',
      'a token is not taken from the query',
      rfc(9700, '4.3.2'),
      [authentication, 'every bad token is refused in strict mode, which is the default'],
      [tokensE2e, 'a token elsewhere than in the header is none'],
    ],
  ]),
  ...area('keys', [
    [
      'provider-down',
      'the gateway starts without the provider and asks until it answers',
      promises,
      [keySets, 'a provider that is down at the start is asked until it answers'],
      [keysE2e, 'at the start closes its routes only, with 503, until it comes'],
    ],
    [
      'unavailable',
      'routes that need keys answer 503 with Retry-After',
      promises,
      [
        jwt,
        'without keys a token cannot be judged: 503 with a time to come back, but not in permissive mode',
      ],
    ],
    [
      'rotation',
      'an unknown kid fetches once, with a cool-down',
      promises,
      [
        keySets,
        'a rotated key is fetched when a token names it, once for all who wait, and not again in the cool-down',
      ],
      [keysE2e, 'many tokens of a new key cause one fetch, and unknown keys no more of them'],
      [verifier, 'an unknown key is waited for, and refused when it does not come'],
    ],
    [
      'stale',
      'a failed refresh keeps the old keys',
      promises,
      [keySets, 'rubbish, errors, empty sets and broken answers leave the old keys in place'],
      [
        keysE2e,
        'a provider that answers rubbish, without end or not at all closes its routes until it mends',
      ],
    ],
    [
      'cache-control',
      'Cache-Control is followed within bounds',
      rfc(9111, '5.2.2.1'),
      [keySets, 'a set is fetched again when its time is over, within the bounds'],
    ],
    [
      'unusual',
      'an unusual key is skipped and does not spoil the set',
      rfc(7517, '5'),
      [keySets, 'an unusual key is skipped with a warning and does not spoil the set'],
      [keysE2e, 'an unusual key in a set is left out with a warning and does not spoil the others'],
    ],
    [
      'weak',
      'weak keys are skipped',
      rfc(8725, '3.5'),
      [publicKey, 'weak and malformed RSA keys are skipped'],
      [publicKey, 'points that are not on the curve or of another length are skipped'],
    ],
    [
      'shared',
      'users of one source share one set, and the last one ends it',
      promises,
      [keySets, 'users of one source share one set, and the last release stops its fetching'],
    ],
    [
      'file',
      'a key set in a file is followed',
      page,
      [keySets, 'a file is read at once and again when it is replaced, rubbish in between changes nothing'],
      [keysE2e, 'a key set in a file is read again when it changes; one in the configuration just works'],
    ],
    [
      'inline',
      'a key set may stand in the configuration',
      page,
      [keySets, 'an inline set is there at once, and one without a usable key is refused'],
    ],
  ]),
  ...area('challenge', [
    [
      'missing',
      'without a token the challenge has no error',
      rfc(6750, '3.1'),
      [authentication, 'without a token the caller is told where to get one, and no error'],
      [tokensE2e, 'without a token answers 401 and says where to get one, and nothing of an error'],
    ],
    [
      'invalid',
      'a refused token is invalid_token, with a description',
      rfc(6750, '3.1'),
      [
        authentication,
        'a refused token is called invalid, with the reason in the log only as far as RFC 6750 goes',
      ],
      [metadata, 'a challenge without a token says no error, one with a token says what RFC 6750 allows'],
    ],
    [
      'quoting',
      'nothing can break out of the challenge',
      rfc(9110, '11.2'),
      [metadata, 'values in a challenge cannot end its quoted string or its line'],
    ],
    [
      'resource-metadata',
      'the challenge points at the metadata of the resource',
      rfc(9728, '5.1'),
      [
        authentication,
        'the metadata pointer follows the scheme the client used, and the configured resource before all',
      ],
    ],
    [
      'document',
      'the metadata is served for the path and for the root',
      rfc(9728, '3.1'),
      [authentication, 'the resource describes itself, for its path and for the root, to any page'],
      [tokensE2e, 'publishes its metadata by itself, for its path and for the root, to every page'],
    ],
    [
      'override',
      'the metadata can be overridden',
      page,
      [metadata, 'resource metadata is derived, and overridden by name in either case'],
    ],
    [
      'issuer',
      'the metadata of the issuer is passed on, and only its own',
      rfc(8414, '3.3'),
      [
        authentication,
        'the metadata of the issuer is passed on, with the audience where the provider needs it',
      ],
      [metadata, 'a document of another issuer is not passed on'],
    ],
    [
      'modes',
      'strict, optional and permissive differ as documented',
      page,
      [jwt, 'the modes differ for a missing and for an invalid token'],
      [tokensE2e, 'optional lets callers without a token pass and refuses bad tokens'],
      [tokensE2e, 'permissive refuses nobody'],
    ],
  ]),
  ...area('token-log', [
    [
      'none',
      'no token is in any log',
      promises,
      [tokensE2e, 'no token is in the log or the access log, even at debug level'],
    ],
    [
      'why',
      'the access log says why a token was refused',
      page,
      [tokensE2e, 'the access log says why each was refused'],
    ],
  ]),
  ...area('rules', [
    [
      'group',
      'a group in a list lets in, anything else does not',
      page,
      [rules, 'a group rule allows only callers with the group in a list claim'],
      [cel, 'membership never matches a part of a string, and a missing claim is an error, not a match'],
    ],
    [
      'forms',
      'every way of writing a rule means the same',
      page,
      [rules, 'every way of writing a rule means the same'],
    ],
    [
      'order',
      'deny, then require, then allow',
      page,
      [rules, 'deny wins over allow, every require must hold, one allow is enough'],
    ],
    [
      'errors',
      'a rule that fails does not allow; a deny that fails denies',
      promises,
      [rules, 'a rule that fails does not allow, a require that fails refuses, a deny that fails denies'],
    ],
    [
      'gate',
      'a rule without mcp.* is a gate: 403 with JSON',
      page,
      [authentication, 'the group rule refuses with 403 and JSON after the token was found good'],
      [tokensE2e, 'without the group answers 403 in JSON'],
    ],
    [
      'items',
      'a rule about items hides them',
      page,
      [rules, 'rules about items show allowed items and hide the rest'],
      [rules, 'items are never more open than by the rules taken one by one'],
    ],
    [
      'known-false',
      'a rule that can never be true is known at load',
      page,
      [cel, 'a condition that no data can make true is known beforehand'],
    ],
    [
      'attributes',
      'expressions see who serves a request and whom it goes to where that is known, and nothing where it is not',
      ours('docs/policies/expressions.md'),
      [attributes, 'rules see the port, the listener and the route that a request took'],
      [attributes, 'the name of the TLS handshake is the host that was asked for, whatever Host says'],
      [attributes, 'a further try may depend on the backend, on how long it took, and on the status of gRPC'],
      [declared, 'attributes that a route or gateway lacks are absent'],
      [declared, 'the backend is known where one is chosen, and not before'],
      [
        declared,
        'names of the format that have no value here are refused with the reason, unknown ones as unknown',
      ],
    ],
    [
      'bounded',
      'expressions are bounded in time and size',
      promises,
      [cel, 'a nested loop over large data runs out of steps, also behind an or'],
      [cel, 'source texts are bounded in length, depth and nesting'],
      [cel, 'a hostile pattern against a long text takes linear time'],
    ],
    [
      'data',
      'claims cannot pose as anything but data',
      promises,
      [cel, 'claims cannot pose as anything but data'],
    ],
    ['log', 'the log learns the rule that refused', page, [rules, 'the log learns the rule that refused']],
  ]),
];
