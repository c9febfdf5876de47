export { parseAuthority, type Authority } from './authority.ts';
export { Body, FRAMING, type ChunkSink } from './body.ts';
export { HANDSHAKE, readClientHello, type ClientHello } from './clientHello.ts';
export { consoleHeader, readConsoleCall, writeConsoleCall, type ConsoleCall } from './consoleCall.ts';
export {
  cookiePairs,
  cookiesOf,
  cookieValues,
  editCookiePairs,
  editCookies,
  holdsCookie,
} from './cookies.ts';
export { HeaderEdits } from './edits.ts';
export { EventReader, type EventHandler, type LargeEvent } from './eventReader.ts';
export type {
  CallSpan,
  ClientCertificate,
  HeaderLine,
  RequestSigner,
  SentCredential,
  HttpReply,
  HttpRequest,
  Reply,
  ReplyStream,
  TracedCall,
} from './exchange.ts';
export { isBeyondClient, KIND } from './fields.ts';
export { Head, HeadPool, separatorOf } from './head.ts';
export {
  CODE as HTTP2_CODE,
  ServerConnection,
  type ConnectionOwner,
  type RequestText,
  type ServerStream,
  type StreamUser,
  type Trailers as Http2Trailers,
} from './http2/index.ts';
export {
  lastChunk,
  requestFields,
  requestTrailers,
  responseText,
  switchText,
  trailerFields,
} from './http2Message.ts';
export { COMPLETE, INCOMPLETE, parseRequest, parseResponse, refusal, type HeadLimits } from './parse.ts';
export { FairShare, longestIdleOfLargest, type Held, type LargestHolder } from './fairShare.ts';
export {
  forwardedClient,
  forwardedHost,
  forwardedScheme,
  lastHop,
  type ForwardedClient,
} from './forwardedFor.ts';
export { LineSplitter, type LargeLine, type LineReader } from './lineSplitter.ts';
export { idempotentMethods } from './methods.ts';
export { networkOf } from './network.ts';
export { networks, type Networks } from './networks.ts';
export { normalizePath, otherReadings } from './path.ts';
export { dropTable, hopByHop, renderFields, renderLines, type DropTable } from './render.ts';
export { hasNoBody, httpDate, statusLine } from './status.ts';
export { canonical, readProxyHeader, type ProxiedEnds } from './proxyHeader.ts';
export { readTarget, withoutParameters, type Target } from './requestTarget.ts';
export { eventStreamHeaders, formatComment, formatEvent, type EventOptions } from './sse.ts';
export { closedAddresses, isAmong, isServiceName, specialAddresses } from './specialAddresses.ts';
export { oneAtATime, tenantLookup, type LookupAll } from './oneAtATime.ts';
