/** The number of objects of each kind. The goals are said for the whole of it. */
export interface Shape {
  readonly gateways: number;
  readonly listenersEach: number;
  readonly routesEach: number;
  readonly services: number;
  readonly endpointsEach: number;
  readonly policies: number;
  /** Each has a rule of a route that leads to it. */
  readonly mcpBackends: number;
}

export const wholeShape: Shape = {
  gateways: 50,
  listenersEach: 20,
  routesEach: 100,
  services: 2_000,
  endpointsEach: 10,
  policies: 500,
  mcpBackends: 200,
};

/** A fiftieth, to try the script itself. */
export const smallShape: Shape = {
  gateways: 2,
  listenersEach: 10,
  routesEach: 50,
  services: 40,
  endpointsEach: 10,
  policies: 10,
  mcpBackends: 4,
};

export const totals = ({ gateways, listenersEach, routesEach, services, endpointsEach }: Shape) => ({
  listeners: gateways * listenersEach,
  routes: gateways * routesEach,
  endpoints: services * endpointsEach,
});
