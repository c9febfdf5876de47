export type * from './contract.ts';
export { configViews } from './configViews.ts';
export { gatewayViews } from './gatewayViews.ts';
export { RateHistory } from './rateHistory.ts';
export { Intake } from './intake.ts';
export { LocalGateway, type LocalGatewayOptions } from './localGateway.ts';
export { withOwnSettings } from './ownSettings.ts';
export { choosePlane } from './plane.ts';
export { StartError } from './startError.ts';
