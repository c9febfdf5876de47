import type { ConsoleDoorAddress, Model } from './model.ts';

/** Does a route of the model lead to the console? */
const leadsToConsole = ({ binds }: Model): boolean =>
  binds.some(({ listeners }) =>
    listeners.some(
      (listener) =>
        'routes' in listener &&
        listener.routes.some(({ backends }) => backends.some(({ kind }) => kind === 'console')),
    ),
  );

/**
 * The model with the way to the console, where one of its routes needs it.
 * @param door asked for such a model only; absent: the process has no console
 */
export const withConsoleDoor = (model: Model, door: (() => ConsoleDoorAddress) | undefined): Model =>
  door === undefined || !leadsToConsole(model)
    ? model
    : { ...model, process: { ...model.process, consoleDoor: door() } };
