/** A session that the gateway holds for a client of the modern era, which knows of none. */

import { asGatewayError, GatewayError } from '../../errors.ts';
import { ownCopy } from '../../ownCopy.ts';
import type { McpBackend } from '../../model/index.ts';
import { initializeResult } from '../federation/capabilities.ts';
import { Federation } from '../federation/federation.ts';
import { initializeAll } from '../federation/initializeAll.ts';
import { cut, memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { errorTextOf } from '../json/errorMember.ts';
import { ownMessage, ownNotification } from '../json/ownMessage.ts';
import { isSupportedVersion, supportedVersions } from '../messages/versions.ts';
import { announcedLists, changingLists } from '../session/announcedLists.ts';
import { maxKeptResponse } from '../session/initializeCall.ts';
import type { Session } from '../session/session.ts';
import type { StartFailure } from '../session/targetStarts.ts';
import type { Waiter } from '../targets/kind/target.ts';
import type { RequestMeta } from '../messages/requestMeta.ts';

/** The answer of the servers to `initialize`, as JSON texts. */
export interface ServerAnswer {
  readonly capabilities: string;
  readonly serverInfo: string | undefined;
  readonly instructions: string | undefined;
}

/** A resource that clients listen for. */
interface HeldSubscription {
  /** Streams that listen for it, or wait until its server has agreed. */
  streams: number;
  /** Its server has agreed to a subscription. */
  isMade: boolean;
}

export class HeldSession {
  readonly session: Session;
  /** The declared capabilities of its client. */
  readonly capabilities: string;
  /** Set once the servers have answered. */
  answer: ServerAnswer | undefined;
  /** Resolves when the servers have answered; rejects with a GatewayError where the session cannot begin. */
  readonly ready: Promise<ServerAnswer>;
  /** The level of log messages that legacy servers were told. */
  logLevel: string | undefined;
  /** The subscriptions of the streams of clients, by URI. */
  readonly subscribed = new Map<string, HeldSubscription>();
  /** The configuration that the answer is about, where the session has several targets. */
  private followed: McpBackend | undefined;

  private readonly onStart: (target: string, failure?: StartFailure) => void;

  /**
   * @param version of the program
   * @param onStart hears of the end of each start of a target; absent failure: it worked
   */
  constructor(
    session: Session,
    meta: RequestMeta,
    version: string,
    onStart: (target: string, failure?: StartFailure) => void,
  ) {
    this.session = session;
    this.capabilities = ownCopy(meta.capabilities);
    this.onStart = onStart;
    this.ready = this.begin(meta, version);
    // Each request waits for it by itself.
    this.ready.catch(() => undefined);
  }

  private begin(meta: RequestMeta, version: string): Promise<ServerAnswer> {
    const { session } = this;
    const initialize = initializeText(meta, version);
    const { promise, resolve, reject } = Promise.withResolvers<ServerAnswer>();
    const isFederated = session.federation instanceof Federation;
    // The targets of a federation tell of their starts by themselves.
    const sole = isFederated ? undefined : session.targets.first;
    const started = (reason?: string): void => {
      if (sole === undefined || session.ended) return;
      this.onStart(
        sole.name,
        reason === undefined ? undefined : { reason, stderr: sole.view().stderr ?? [] },
      );
    };
    const failed = (error: GatewayError): void => {
      if (error.code === 'mcp_target_failed' || error.code === 'mcp_target_timeout') started(error.message);
      session.log.warn('Initialize failed', { reason: error.message, detail: error.detail });
      void session.end(0);
      reject(error);
    };
    const waiter: Waiter = {
      answered: (response) => {
        const said = stringAt(response, 'protocolVersion');
        if (response.isError) failed(refusedBy(response));
        else if (said !== undefined && !isSupportedVersion(said))
          failed(new GatewayError('mcp_target_failed', { message: 'a target speaks no known revision' }));
        else {
          started();
          session.agree(said);
          session.notify(ownNotification('notifications/initialized'), undefined);
          session.announces = announcedLists(response);
          if (session.federation === undefined && response.text.length <= maxKeptResponse)
            session.opening = { request: initialize, response };
          this.answer = serverAnswer(response);
          resolve(this.answer);
        }
      },
      failed,
    };
    try {
      if (session.federation instanceof Federation) {
        this.followed = session.federation.settings;
        initializeAll(session.federation, initialize, version, waiter);
      } else
        for (const target of session.targets.values())
          target.open({ envelope: initialize, token: undefined, edits: [] }, waiter);
    } catch (error) {
      failed(asGatewayError(error));
    }
    return promise;
  }

  /** The configuration has brought other targets. @param version of the program */
  follow(version: string): void {
    const { federation } = this.session;
    if (this.answer === undefined || !(federation instanceof Federation)) return;
    if (federation.settings === this.followed) return;
    this.followed = federation.settings;
    const targets = federation.all.map(({ name, facts }) => ({ name, facts }));
    const { capabilities, serverInfo, instructions } = initializeResult(
      '',
      { name: federation.settings.name, version },
      targets,
    );
    this.session.announces = new Set(changingLists.filter((list) => list in Object(capabilities)));
    this.answer = {
      capabilities: JSON.stringify(capabilities),
      serverInfo: JSON.stringify(serverInfo),
      instructions: instructions === undefined ? undefined : JSON.stringify(instructions),
    };
  }
}

/** The client in the words of the legacy era. */
function initializeText({ capabilities, clientInfo }: RequestMeta, version: string): Envelope {
  const info = clientInfo ?? JSON.stringify({ name: 'portcullis', version });
  const params = `{"protocolVersion":"${supportedVersions[0]}","capabilities":${capabilities},"clientInfo":${info}}`;
  return ownMessage('initialize', params);
}

function stringAt({ text, body }: Envelope, name: string): string | undefined {
  const place = memberOf(text, body, name);
  return place === 'ambiguous' ? undefined : stringValue(text, place);
}

function serverAnswer({ text, body }: Envelope): ServerAnswer {
  const json = (name: string): string | undefined => {
    const place = memberOf(text, body, name);
    return typeof place === 'object' ? cut(text, place) : undefined;
  };
  return {
    capabilities: json('capabilities') ?? '{}',
    serverInfo: json('serverInfo'),
    instructions: json('instructions'),
  };
}

/** A server that refuses the session, in its own words. */
const refusedBy = (response: Envelope): GatewayError =>
  new GatewayError('mcp_target_failed', {
    message: `the target refused the session: ${errorTextOf(response)}`,
  });
