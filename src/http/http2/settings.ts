import type { ListLimits } from '../hpack/decoder.ts';
import { CODE, FRAME_DEFAULT, SETTING, WINDOW_DEFAULT, WINDOW_MOST } from './codes.ts';

/** Bytes of one setting (RFC 9113 §6.5.1). */
const ENTRY = 6;
/** No honest client sends so many; each of them is work. */
const ENTRIES_MOST = 32;

/** The settings that we announce to the client and enforce. */
export interface ServerSettings {
  readonly maxStreams: number;
  readonly streamWindow: number;
  readonly connectionWindow: number;
  readonly maxFrameBytes: number;
  readonly head: ListLimits;
}

/** Our settings as the payload of a frame. */
export function encodeSettings(settings: ServerSettings): Buffer {
  const entries: readonly (readonly [number, number])[] = [
    [SETTING.maxStreams, settings.maxStreams],
    [SETTING.initialWindow, settings.streamWindow],
    [SETTING.maxFrame, settings.maxFrameBytes],
    [SETTING.maxHeaderList, settings.head.maxBytes],
    [SETTING.enableConnect, 1],
  ];
  const payload = Buffer.alloc(entries.length * ENTRY);
  for (const [i, [id, value]] of entries.entries()) {
    payload.writeUInt16BE(id, i * ENTRY);
    payload.writeUInt32BE(value, i * ENTRY + 2);
  }
  return payload;
}

/** The settings of a client; its other settings have no meaning for a server. */
export class ClientSettings {
  window = WINDOW_DEFAULT;

  /** Takes the payload of a frame. @returns the code of what is wrong with it, 0 where all is well */
  take(bytes: Buffer, from: number, to: number): number {
    if ((to - from) % ENTRY !== 0) return CODE.frameSize;
    if (to - from > ENTRIES_MOST * ENTRY) return CODE.enhanceYourCalm;
    for (let at = from; at < to; at += ENTRY) {
      const problem = this.set(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
      if (problem !== CODE.none) return problem;
    }
    return CODE.none;
  }

  private set(id: number, value: number): number {
    switch (id) {
      case SETTING.enablePush:
        return value > 1 ? CODE.protocol : CODE.none;
      case SETTING.initialWindow:
        if (value > WINDOW_MOST) return CODE.flowControl;
        this.window = value;
        return CODE.none;
      case SETTING.maxFrame:
        // Larger ones than the first size are never sent: what the client takes beyond it need not be known.
        return value < FRAME_DEFAULT || value > 0xff_ffff ? CODE.protocol : CODE.none;
      default:
        return CODE.none;
    }
  }
}
