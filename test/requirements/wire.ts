import { area, gatewayApi, ours, rfc, type Requirement } from './requirement.ts';

const promises = ours('SECURITY.md');
const parse = 'src/http/parse.test.ts';
const body = 'src/http/body.test.ts';
const authority = 'src/http/authority.test.ts';
const target = 'src/http/requestTarget.test.ts';
const path = 'src/http/path.test.ts';
const render = 'src/http/render.test.ts';
const status = 'src/http/status.test.ts';
const match = 'src/proxy/routing/match.test.ts';
const router = 'src/proxy/routing/router.test.ts';
const spec = gatewayApi('reference/api-spec/main/spec/#httproutematch');

/** HTTP/1.1 as it is read and written, and how a route is found. */
export const wire: readonly Requirement[] = [
  ...area('wire.line', [
    [
      'method',
      'a method is a case-sensitive token',
      rfc(9110, '9.1'),
      [parse, 'methods are tokens in any case, and nothing else'],
    ],
    [
      'shape',
      'the request line has two single spaces and one version',
      rfc(9112, '3'),
      [parse, 'the request line has exactly two single spaces and one version'],
    ],
    [
      'version',
      'other versions are told apart from garbage',
      rfc(9112, '2.3'),
      [parse, 'versions other than 1.0 and 1.1 are told apart from garbage'],
      [parse, 'HTTP/0.9 requests are refused at once, not waited for'],
    ],
    [
      'crlf',
      'lines end with CRLF: no bare LF, no bare CR',
      rfc(9112, '2.2'),
      [parse, 'a line ends with CRLF and with nothing else'],
    ],
    [
      'origin-form',
      'the origin form is split and normalised',
      rfc(9112, '3.2.1'),
      [target, 'the origin form is split and normalised, its query left alone'],
    ],
    [
      'absolute-form',
      'the absolute form names its own host',
      rfc(9112, '3.2.2'),
      [target, 'the absolute form names its own host'],
    ],
    [
      'asterisk-form',
      'the asterisk form belongs to OPTIONS',
      rfc(9112, '3.2.4'),
      [target, 'the asterisk form belongs to OPTIONS'],
    ],
    [
      'connect',
      'CONNECT is not implemented',
      rfc(9110, '9.3.6'),
      [parse, 'CONNECT is not implemented, whatever its target'],
    ],
    [
      'target',
      'a target holds no byte that no URI may hold',
      rfc(3986, '2'),
      [parse, 'the target is visible ASCII without the bytes that no URI may hold'],
      [target, 'other forms and malformed paths are refused'],
    ],
  ]),
  ...area('wire.host', [
    [
      'required',
      'HTTP/1.1 demands exactly one Host',
      rfc(9112, '3.2'),
      [parse, 'HTTP/1.1 demands one Host, HTTP/1.0 allows none'],
    ],
    [
      'valid',
      'a host that two readers could take for two is refused',
      rfc(3986, '3.2'),
      [authority, 'an ambiguous host is rejected'],
      [authority, 'host and port are read from the forms that RFC 3986 and real clients use'],
    ],
  ]),
  ...area('wire.field', [
    ['folding', 'folded lines are refused', rfc(9112, '5.2'), [parse, 'folded lines are refused']],
    [
      'name',
      'no white space stands before the colon',
      rfc(9112, '5.1'),
      [parse, 'a field name is a token with its colon right behind it'],
    ],
    [
      'value',
      'a value holds no control bytes',
      rfc(9110, '5.5'),
      [parse, 'values hold no control byte but the tab'],
      [parse, 'surrounding white space is no part of a value'],
    ],
    [
      'limits',
      'too long, too many: 414 and 431',
      rfc(6585, '5'),
      [parse, 'a head that grows beyond its limits gets the status that says so'],
      [parse, 'more fields than the limit are refused, exactly as many are not'],
    ],
    [
      'hop-by-hop',
      'hop-by-hop fields and what Connection names are removed',
      rfc(9110, '7.6.1'),
      [render, 'hop-by-hop fields go wherever they stand, and so does what Connection names'],
      [parse, 'Connection must not name end-to-end fields that the gateway needs'],
    ],
    [
      'injection',
      'a written value cannot begin a line',
      rfc(9110, '5.5'),
      [
        render,
        'a value cannot begin a line of its own, not even by a character that latin1 cuts down to CR or LF',
      ],
    ],
    [
      'expect',
      'the only expectation is 100-continue',
      rfc(9110, '10.1.1'),
      [parse, 'the only expectation is 100-continue, and HTTP/1.0 has none'],
    ],
    [
      'pieces',
      'a head reads the same however it arrives',
      rfc(9112, '2.2'),
      [parse, 'a head cut at any byte gives the same result as the whole'],
      [render, 'a head that arrives in any pieces is read as the whole'],
    ],
  ]),
  ...area('wire.framing', [
    [
      'length',
      'Content-Length is digits, once',
      rfc(9112, '6.3'),
      [parse, 'Content-Length is a row of digits, once'],
    ],
    [
      'chunked-only',
      'Transfer-Encoding is chunked and nothing else',
      rfc(9112, '6.1'),
      [parse, 'Transfer-Encoding is chunked and nothing else'],
      [parse, 'every way to write Transfer-Encoding that two readers could read in two ways is refused'],
    ],
    [
      'repeated',
      'Transfer-Encoding stands once',
      rfc(9112, '6.3'),
      [parse, 'a second Transfer-Encoding line is refused, equal or not'],
    ],
    [
      'both',
      'both framings together are refused',
      rfc(9112, '6.1'),
      [parse, 'Transfer-Encoding and Content-Length do not stand together, in any order'],
    ],
    [
      'http10',
      'HTTP/1.0 has no Transfer-Encoding',
      rfc(9112, '6.1'),
      [parse, 'Transfer-Encoding has no place in HTTP/1.0'],
    ],
    [
      'chunk-size',
      'a chunk size is hexadecimal digits and cannot wrap',
      rfc(9112, '7.1'),
      [body, 'a size is hexadecimal digits and nothing else'],
      [body, 'a size beyond what can be counted exactly is refused, not wrapped'],
    ],
    [
      'chunk-end',
      'a chunk is as long as it says and ends with CRLF',
      rfc(9112, '7.1'),
      [body, 'a chunk is exactly as long as it says'],
      [body, 'line ends are CRLF everywhere'],
    ],
    [
      'chunk-extension',
      'extensions are passed over within a limit',
      rfc(9112, '7.1.1'),
      [body, 'extensions hold no control bytes and have a limit over the whole body'],
    ],
    [
      'trailers',
      'trailers cannot change the message',
      rfc(9110, '6.5.1'),
      [body, 'fields that would change the message are refused as trailers, by name in any case'],
      [body, 'trailers are fields: no folding, no empty name, no space before the colon, a limit'],
    ],
    ['no-body', '1xx, 204 and 304 have no body', rfc(9112, '6.3'), [status, '1xx, 204 and 304 have no body']],
    [
      'pieces',
      'a chunked body reads the same however it arrives',
      rfc(9112, '7.1'),
      [body, 'a chunked body cut at any byte, once or at every byte, reads like the whole'],
    ],
  ]),
  ...area('wire.path', [
    [
      'normal',
      'spellings of one path become one path',
      rfc(3986, '6.2.2'),
      [path, 'spellings of one path become one path'],
    ],
    [
      'climbing',
      'a path that climbs or hides something is refused',
      promises,
      [path, 'a path that climbs, is malformed or hides something is refused'],
      [path, 'a normalized path stays below the root for every reader'],
    ],
  ]),
  ...area('match', [
    ['exact', 'an exact path is that path alone', spec, [match, 'an exact path is that path alone']],
    [
      'prefix',
      'a prefix holds for whole segments',
      spec,
      [match, 'a prefix holds for whole segments, with or without a slash at its end'],
    ],
    [
      'regex',
      'a regex holds for the whole path and cannot hang',
      spec,
      [match, 'a regex must hold for the whole path, and cannot hang'],
    ],
    ['method', 'a method is compared as sent', rfc(9110, '9.1'), [match, 'a method is compared as sent']],
    [
      'headers',
      'header names match in any case',
      rfc(9110, '5.1'),
      [match, 'header rules hold for a name in any case and the whole value'],
    ],
    [
      'query',
      'query rules see decoded values',
      spec,
      [match, 'query rules see decoded values, and the first of a repeated parameter'],
    ],
    [
      'order',
      'rules are tried in the order of the Gateway API',
      spec,
      [router, 'rules are tried in the order of the Gateway API'],
      [router, 'the exact host wins, then the longest wildcard, then the catch-all'],
    ],
  ]),
];
