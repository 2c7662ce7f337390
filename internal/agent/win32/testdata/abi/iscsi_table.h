/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of iscsi.h that goes into the table.
 */
LIST(iscsi),
X_LAYOUT(ISCSI_UNIQUE_SESSION_ID, AdapterUnique, AdapterSpecific),
X_LAYOUT(ISCSI_TARGET_PORTALW, SymbolicName, Address, Socket),
X_LAYOUT(ISCSI_TARGET_PORTAL_INFOW, InitiatorName, InitiatorPortNumber, SymbolicName, Address, Socket),
X_LAYOUT(ISCSI_SESSION_INFOW, SessionId, InitiatorName, TargetNodeName, TargetName, ISID, TSID, ConnectionCount,
    Connections),
X_LAYOUT(ISCSI_DEVICE_ON_SESSIONW, InitiatorName, TargetName, ScsiAddress, DeviceInterfaceType, DeviceInterfaceName,
    LegacyName, StorageDeviceNumber, DeviceInstance),
X_LAYOUT(PERSISTENT_ISCSI_LOGIN_INFOW, TargetName, IsInformationalSession, InitiatorInstance, InitiatorPortNumber,
    TargetPortal, SecurityFlags, Mappings, LoginOptions),

OBJECTS(iscsi_unique_id, iscsi_target_portal, iscsi_target_portals, iscsi_session_list, iscsi_devices,
    iscsi_persistent_logins),
