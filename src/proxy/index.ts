export { DataPlane, type BindView, type DataPlaneOptions } from './dataPlane.ts';
