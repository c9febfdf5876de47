import { hash } from 'node:crypto';
import type { Bind, HttpListener, Listener, Model, ProcessSettings } from '../model/index.ts';

/**
 * A model is sent in parts: its settings, each listener without its routes, each route, and lists that hold them
 * together. A part is named by its content, so both sides agree on names without ever having spoken, and a proxy can
 * go on at any controller from whatever it has. What a part is in is named by the names of its parts, up to the root:
 * the name of the root stands for the whole model.
 */
export type PartName = string;

/** Enough that nobody who writes routes can find two parts of one name: 132 bits. */
const nameLength = 22;

export const isPartName = (text: unknown): text is PartName =>
  typeof text === 'string' && text.length === nameLength && /^[\w-]+$/.test(text);

export const nameOfText = (text: string): PartName => hash('sha256', text, 'base64url').slice(0, nameLength);

export interface Parts {
  readonly root: PartName;
  /** As JSON, by name. */
  readonly texts: ReadonlyMap<PartName, string>;
}

interface Root {
  readonly process: PartName;
  readonly binds: readonly (Omit<Bind, 'listeners'> & { readonly listeners: readonly PartName[] })[];
}

/** The routes of a listener stand under one of these names. */
const routeFields = ['routes', 'tcpRoutes', 'udpRoutes'] as const;
type RouteField = (typeof routeFields)[number];

/** Longest list of routes in one part. */
const longestPage = 512;

/** Divides a model into parts. */
export function partsOf(model: Model): Parts {
  const texts = new Map<PartName, string>();
  const put = (value: unknown): PartName => {
    const text = JSON.stringify(value);
    const name = nameOfText(text);
    texts.set(name, text);
    return name;
  };
  const listenerPart = (listener: Listener): PartName => {
    const field = routeFields.find((name) => name in listener) ?? 'routes';
    const routes = (listener as unknown as Record<RouteField, readonly unknown[]>)[field];
    return put({ ...listener, [field]: pages(routes.map(put)).map(put) });
  };
  const root: Root = {
    process: put(model.process),
    binds: model.binds.map((bind) => ({ ...bind, listeners: bind.listeners.map(listenerPart) })),
  };
  return { root: put(root), texts };
}

/**
 * Divides a list where its own entries say so: one that is put in or taken out changes the page that it is on, and no
 * other.
 */
function pages(names: readonly PartName[]): PartName[][] {
  const all: PartName[][] = [];
  let page: PartName[] = [];
  for (const name of names) {
    page.push(name);
    // A page ends at one of 64 names, by the first character.
    if (!name.startsWith('A') && page.length < longestPage) continue;
    all.push(page);
    page = [];
  }
  if (page.length > 0) all.push(page);
  return all;
}

const isRoot = (value: unknown): value is Root =>
  typeof value === 'object' && value !== null && 'binds' in value && Array.isArray(value.binds);

/** A part that is named is not there, or is not what it ought to be. */
export class PartsBroken extends Error {
  override readonly name = 'PartsBroken';
}

/**
 * Puts a model together.
 * @param parts parsed, by name
 * @returns the model, and the names of all parts that are in it
 * @throws PartsBroken where one is missing
 */
export function modelFrom(
  root: PartName,
  parts: ReadonlyMap<PartName, unknown>,
): { readonly model: Model; readonly used: ReadonlySet<PartName> } {
  const used = new Set<PartName>();
  const get = (name: PartName): unknown => {
    if (!parts.has(name)) throw new PartsBroken(`part ${name} is missing`);
    used.add(name);
    return parts.get(name);
  };
  const list = (value: unknown): readonly PartName[] => {
    if (!Array.isArray(value) || !value.every(isPartName)) throw new PartsBroken('a list of parts is none');
    return value;
  };
  const listener = (name: PartName): Listener => {
    const part = get(name) as HttpListener;
    const field = routeFields.find((one) => one in part);
    if (field === undefined) throw new PartsBroken(`part ${name} is no listener`);
    const routes = list((part as unknown as Record<RouteField, unknown>)[field])
      .flatMap((page) => list(get(page)))
      .map(get);
    return { ...part, [field]: routes } as Listener;
  };
  const top = get(root);
  if (!isRoot(top)) throw new PartsBroken('the root is none');
  const model: Model = {
    process: get(top.process) as ProcessSettings,
    binds: top.binds.map((bind) => ({ ...bind, listeners: list(bind.listeners).map(listener) })),
  };
  return { model, used };
}
