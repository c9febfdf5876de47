import type { AddressLists, ModelFrame, Route } from '../model/index.ts';
import type { LogLevel, MetricsSnapshot } from '../telemetry/index.ts';
import type { Decision, ExpressionResult, ExpressionTrial, RelayPeer, TrialRequest } from '../proxy/index.ts';
import type { EntranceRequest, PlaneView, Secrets } from './contract.ts';

interface Exchange<Question, Answer> {
  readonly question: Question;
  readonly answer: Answer;
}

/** The data that a worker needs to begin. */
export interface Start {
  /** Counts from 1. */
  readonly worker: number;
  /** Names this run of the worker in session ids: 16 hex digits. */
  readonly owner: string;
  /** With a session key, which all workers have in common. The routes of the model go ahead of it. */
  readonly model: ModelFrame;
  readonly logLevel: LogLevel;
  readonly secrets: Secrets;
  /** The path of the socket on which other workers reach this one. */
  readonly relayPath: string;
  readonly peers: readonly RelayPeer[];
  /** Others serve until it does: those of the program before this one, or a neighbour. */
  readonly relieves: boolean;
  /** By which the processes of this gateway know each other, on sockets that only this user can reach. */
  readonly innerSecret: string;
  /** 32 bytes; changes now and then. */
  readonly ticketSecret: Uint8Array;
  /** The session key in the model was made for this start. */
  readonly madeKey: boolean;
  /** An operator watches the requests. */
  readonly watched: boolean;
}

/** Some routes of a model that is on its way. */
export interface RoutesPortion {
  /** The number of the first of them in the model. */
  readonly first: number;
  readonly routes: readonly Route[];
}

/** The questions of the main process to a worker. */
export interface ToWorker {
  /** Comes with a socket, before the model that has its port. */
  socket: Exchange<{ readonly key: string }, void>;
  /** Comes before the `start` or `prepare` of a model, once for each portion. The answer lets the next portion come. */
  routes: Exchange<RoutesPortion, void>;
  start: Exchange<Start, void>;
  /** Further secrets; comes before the model that has them. */
  secrets: Exchange<Secrets, void>;
  /** Does everything that can fail; then comes either `commit` or `abort`. */
  prepare: Exchange<ModelFrame, void>;
  commit: Exchange<void, void>;
  /** Drops the model that was prepared, and routes that have arrived for one. */
  abort: Exchange<void, void>;
  /** Replaces only the addresses of the model in use. */
  addresses: Exchange<AddressLists, void>;
  /** Comes with a socket of a worker that is not there just now. */
  lend: Exchange<{ readonly key: string; readonly of: number }, void>;
  /** Returns the sockets of a worker that is there again. */
  takeBack: Exchange<{ readonly of: number }, void>;
  /** Announces the holders of sessions, present or future; comes before a client can know any of their sessions. */
  peers: Exchange<readonly RelayPeer[], void>;
  ticketSecret: Exchange<Uint8Array, void>;
  logLevel: Exchange<LogLevel, void>;
  /** An operator watches the requests, or no longer does. */
  watch: Exchange<boolean, void>;
  why: Exchange<TrialRequest, Decision>;
  evaluate: Exchange<ExpressionTrial, ExpressionResult>;
  endSession: Exchange<string, boolean>;
  entrance: Exchange<EntranceRequest, string>;
  auditLines: Exchange<void, readonly string[]>;
  view: Exchange<void, PlaneView>;
  metrics: Exchange<void, MetricsSnapshot>;
  /** Sign of life. */
  beat: Exchange<void, void>;
  /** Answered when the last request has its answer. */
  drain: Exchange<{ readonly patienceMs: number; readonly followed: boolean }, void>;
  /** The process ends, whether or not the answer arrives. */
  end: Exchange<{ readonly graceMs: number }, void>;
}

/** The questions of a worker to the main process. */
export interface ToMain {
  /** The process group of an MCP server is there, or nothing is left of it. */
  group: Exchange<{ readonly leader: number; readonly alive: boolean }, void>;
  /** Records of requests, as JSON. */
  records: Exchange<readonly string[], void>;
  /** The path of the socket on which token buckets are kept for all workers. */
  counter: Exchange<void, string>;
}
