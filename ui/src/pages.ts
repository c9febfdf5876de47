import { lazy, type ComponentType } from 'react';
import { TrafficPage } from './traffic/TrafficPage.tsx';

interface Page {
  readonly path: string;
  readonly name: string;
  readonly view: ComponentType;
}

/** The pages of the console, in the order of the menu. The first page is part of the first load. */
export const pages: readonly Page[] = [
  { path: '/', name: 'Traffic', view: TrafficPage },
  {
    path: '/playground',
    name: 'Playground',
    view: lazy(async () => ({ default: (await import('./playground/PlaygroundPage.tsx')).PlaygroundPage })),
  },
  {
    path: '/rules',
    name: 'Rules',
    view: lazy(async () => ({ default: (await import('./rules/RulesPage.tsx')).RulesPage })),
  },
  {
    path: '/configuration',
    name: 'Configuration',
    view: lazy(async () => ({
      default: (await import('./configuration/ConfigurationPage.tsx')).ConfigurationPage,
    })),
  },
  {
    path: '/connect',
    name: 'Connect',
    view: lazy(async () => ({ default: (await import('./connect/ConnectPage.tsx')).ConnectPage })),
  },
];
