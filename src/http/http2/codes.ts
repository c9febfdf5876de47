/** Types of frames (RFC 9113 §6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Codes of errors (RFC 9113 §7). */
export const CODE = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

/** Settings (RFC 9113 §6.5.2, RFC 8441 §3). */
export const SETTING = {
  enablePush: 2,
  maxStreams: 3,
  initialWindow: 4,
  maxFrame: 5,
  maxHeaderList: 6,
  enableConnect: 8,
} as const;

/** Bytes of the head of a frame. */
export const FRAME_HEAD = 9;
/** Largest frame and first window where nothing else was agreed. */
export const FRAME_DEFAULT = 16_384;
export const WINDOW_DEFAULT = 65_535;
export const WINDOW_MOST = 0x7fff_ffff;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
