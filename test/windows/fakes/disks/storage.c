// SPDX-License-Identifier: Apache-2.0
//
// Control codes of storage devices in general. https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/
#include "fake.h"

static ULONG partition_of(const REQUEST *r) { return r->volume ? r->volume->partition : 0; }

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ni-ntddstor-ioctl_storage_get_device_number
static NTSTATUS device_number(REQUEST *r)
{
	DISK_EXTENT extents[8];
	STORAGE_DEVICE_NUMBER number = {FILE_DEVICE_DISK, r->disk->number, partition_of(r)};
	if (r->volume && extents_of(r->call, r->volume, extents, ARRAYSIZE(extents)) > 1)
		return STATUS_INVALID_DEVICE_REQUEST; // a volume on several disks has no number
	return put(r, &number, sizeof number);
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ni-ntddstor-ioctl_storage_get_device_number_ex
static NTSTATUS device_number_ex(REQUEST *r)
{
	STORAGE_DEVICE_NUMBER_EX number = {.Version = sizeof number, .Size = sizeof number, .DeviceType = FILE_DEVICE_DISK, .DeviceNumber = r->disk->number, .PartitionNumber = partition_of(r)};
	number.DeviceGuid.Data1 = 0x5eed0000 | r->disk->number;
	return put(r, &number, sizeof number);
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddscsi/ni-ntddscsi-ioctl_scsi_get_address
static NTSTATUS scsi_address(REQUEST *r)
{
	const struct { ULONG length; UCHAR port, path, target, lun; } address = {8, (UCHAR)r->disk->port, (UCHAR)r->disk->path, (UCHAR)r->disk->target, (UCHAR)r->disk->lun};
	return put(r, &address, sizeof address);
}

// A READING is a descriptor while it is made.
typedef struct {
	BYTE data[4096];
	ULONG size;
} READING;

static ULONG put_text(READING *d, const char *text, size_t width)
{
	const ULONG at = d->size;
	if (!text)
		return 0;
	d->size += (ULONG)snprintf((char *)d->data + at, sizeof d->data - at, "%-*s", (int)width, text) + 1;
	return at;
}

static char *spaced(const char *text, char to[64])
{
	snprintf(to, 64, "%s", text);
	for (char *c = to; *c; c++)
		if (*c == '_')
			*c = ' ';
	return to;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_device_descriptor
static void device_descriptor(const REQUEST *r, READING *d)
{
	char text[64];
	STORAGE_DEVICE_DESCRIPTOR *descriptor = (STORAGE_DEVICE_DESCRIPTOR *)d->data;
	d->size = sizeof *descriptor;
	descriptor->Version = sizeof *descriptor;
	descriptor->RemovableMedia = r->disk->removable;
	descriptor->CommandQueueing = TRUE;
	descriptor->VendorIdOffset = put_text(d, spaced(r->disk->vendor ? r->disk->vendor : "Msft", text), 8);
	descriptor->ProductIdOffset = put_text(d, spaced(r->disk->product ? r->disk->product : "Virtual_Disk", text), 16);
	descriptor->ProductRevisionOffset = put_text(d, spaced(r->disk->revision ? r->disk->revision : "1.0", text), 4);
	descriptor->SerialNumberOffset = r->disk->serial ? put_text(d, spaced(r->disk->serial, text), 0) : 0;
	descriptor->BusType = r->disk->bus;
	descriptor->Size = d->size;
}

static size_t put_hex(BYTE *to, const char *text)
{
	size_t n = 0;
	for (unsigned byte; sscanf(text, "%2x", &byte) == 1 && text[0] && text[1]; text += 2)
		to[n++] = (BYTE)byte;
	return n;
}

// The kinds of identifiers of page 83h, by the words of a "disk" line.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ne-ntddstor-_storage_identifier_type
static const struct {
	const char *word;
	ULONG type, set, association;
} kinds[] = {{"vendor:", 0, 2, 0}, {"t10:", 1, 2, 0}, {"eui:", 2, 1, 0}, {"naa:", 3, 1, 0}, {"name:", 8, 3, 0}, {"port:", 4, 1, 1}, {"port-naa:", 3, 1, 1}, {"target-name:", 8, 3, 2}};

static void put_identifier(READING *d, const char *word, BOOL last)
{
	for (size_t i = 0; i < ARRAYSIZE(kinds); i++) {
		const size_t n = strlen(kinds[i].word);
		if (strncmp(word, kinds[i].word, n))
			continue;
		char text[256];
		STORAGE_IDENTIFIER *identifier = (STORAGE_IDENTIFIER *)(d->data + d->size);
		identifier->CodeSet = (STORAGE_IDENTIFIER_CODE_SET)kinds[i].set;
		identifier->Type = (STORAGE_IDENTIFIER_TYPE)kinds[i].type;
		identifier->Association = (STORAGE_ASSOCIATION_TYPE)kinds[i].association;
		snprintf(text, sizeof text, "%s", word + n);
		for (char *c = text; kinds[i].set == 2 && *c; c++) // blanks of a vendor's name
			if (*c == '_')
				*c = ' ';
		identifier->IdentifierSize = (USHORT)(kinds[i].set == 1 ? put_hex(identifier->Identifier, text) : strlen(strcpy((char *)identifier->Identifier, text)));
		const ULONG size = (offsetof(STORAGE_IDENTIFIER, Identifier) + identifier->IdentifierSize + 3) & ~3u;
		identifier->NextOffset = last ? 0 : (USHORT)size;
		d->size += size;
	}
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_device_id_descriptor
static void id_descriptor(const REQUEST *r, READING *d)
{
	STORAGE_DEVICE_ID_DESCRIPTOR *descriptor = (STORAGE_DEVICE_ID_DESCRIPTOR *)d->data;
	char otherwise[64];
	d->size = offsetof(STORAGE_DEVICE_ID_DESCRIPTOR, Identifiers);
	for (int i = 0; i < r->disk->ids; i++)
		put_identifier(d, r->disk->id[i], i + 1 == r->disk->ids);
	if (!r->disk->ids) {
		snprintf(otherwise, sizeof otherwise, "naa:60022480%024lx", r->disk->number);
		put_identifier(d, otherwise, TRUE);
	}
	descriptor->Version = sizeof *descriptor;
	descriptor->NumberOfIdentifiers = r->disk->ids ? (DWORD)r->disk->ids : 1;
	descriptor->Size = d->size;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_adapter_descriptor
static void adapter_descriptor(const REQUEST *r, READING *d)
{
	STORAGE_ADAPTER_DESCRIPTOR *descriptor = (STORAGE_ADAPTER_DESCRIPTOR *)d->data;
	d->size = descriptor->Version = descriptor->Size = sizeof *descriptor;
	descriptor->MaximumTransferLength = 1 << 20;
	descriptor->MaximumPhysicalPages = 257;
	descriptor->AlignmentMask = 3;
	descriptor->CommandQueueing = TRUE;
	descriptor->BusType = (BYTE)r->disk->bus;
	descriptor->BusMajorVersion = 1;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_access_alignment_descriptor
static void alignment_descriptor(const REQUEST *r, READING *d)
{
	STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR *descriptor = (STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR *)d->data;
	d->size = descriptor->Version = descriptor->Size = sizeof *descriptor;
	descriptor->BytesPerLogicalSector = r->disk->sector;
	descriptor->BytesPerPhysicalSector = r->disk->physical;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_device_seek_penalty_descriptor
static void seek_descriptor(const REQUEST *r, READING *d)
{
	DEVICE_SEEK_PENALTY_DESCRIPTOR *descriptor = (DEVICE_SEEK_PENALTY_DESCRIPTOR *)d->data;
	(void)r;
	d->size = descriptor->Version = descriptor->Size = sizeof *descriptor;
}

// append puts a descriptor of its own behind what is there, and returns its offset.
static ULONG append_descriptor(const REQUEST *r, READING *d, void (*make)(const REQUEST *, READING *))
{
	READING *other = calloc(1, sizeof *other);
	const ULONG at = (d->size + 7) & ~7u;
	make(r, other);
	memcpy(d->data + at, other->data, other->size);
	d->size = at + other->size;
	free(other);
	return at;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/storduid/ns-storduid-_storage_device_layout_signature
static void signature_descriptor(const REQUEST *r, READING *d)
{
	struct { ULONG version, size; BYTE mbr; union { ULONG signature; GUID id; }; } signature = {1, sizeof signature, 0, {0}};
	table_read(r->call, r->disk, r->call->layout);
	signature.mbr = r->call->layout->style == PARTITION_STYLE_MBR;
	signature.id = r->call->layout->id;
	if (signature.mbr)
		signature.signature = r->call->layout->signature;
	memcpy(d->data, &signature, d->size = sizeof signature);
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/storduid/ns-storduid-_storage_device_unique_identifier
static void unique_descriptor(const REQUEST *r, READING *d)
{
	struct { ULONG version, size, id, device, signature; } unique = {.version = 1};
	d->size = sizeof unique;
	unique.id = r->disk->no_id ? 0 : append_descriptor(r, d, id_descriptor);
	unique.device = append_descriptor(r, d, device_descriptor);
	unique.signature = append_descriptor(r, d, signature_descriptor);
	unique.size = d->size;
	memcpy(d->data, &unique, sizeof unique);
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ni-ntddstor-ioctl_storage_query_property: an answer that does not fit is
// cut, which is how callers ask for its size with room for a STORAGE_DESCRIPTOR_HEADER alone.
NTSTATUS query_property(REQUEST *r)
{
	static const struct { ULONG id; void (*make)(const REQUEST *, READING *); } properties[] = {
		{StorageDeviceProperty, device_descriptor}, {StorageAdapterProperty, adapter_descriptor}, {StorageDeviceIdProperty, id_descriptor},
		{StorageDeviceUniqueIdProperty, unique_descriptor},
		{StorageAccessAlignmentProperty, alignment_descriptor}, {StorageDeviceSeekPenaltyProperty, seek_descriptor}};
	STORAGE_PROPERTY_QUERY query;
	if (r->in_size < sizeof query)
		return refuse(r->call, STATUS_INFO_LENGTH_MISMATCH, "the input buffer has %lu bytes, less than %lu", r->in_size, (ULONG)sizeof query);
	memcpy(&query, r->in, sizeof query);
	for (size_t i = 0; i < ARRAYSIZE(properties); i++) {
		if (properties[i].id != (ULONG)query.PropertyId || (query.PropertyId == StorageDeviceIdProperty && r->disk->no_id) || (query.PropertyId == StorageDeviceUniqueIdProperty && r->disk->no_duid))
			continue;
		if (query.QueryType == PropertyExistsQuery)
			return STATUS_SUCCESS;
		if (query.QueryType != PropertyStandardQuery)
			return refuse(r->call, STATUS_NOT_SUPPORTED, "query type %d", query.QueryType);
		if (r->out_size < sizeof(STORAGE_DESCRIPTOR_HEADER))
			return refuse(r->call, STATUS_BUFFER_TOO_SMALL, "the output buffer has %lu bytes, less than a header", r->out_size);
		READING *d = calloc(1, sizeof *d);
		properties[i].make(r, d);
		NTSTATUS status = put(r, d->data, min(d->size, r->out_size));
		free(d);
		return status;
	}
	return query.QueryType == PropertyExistsQuery ? STATUS_NOT_SUPPORTED : STATUS_INVALID_DEVICE_REQUEST;
}

NTSTATUS storage_code(REQUEST *r)
{
	switch (r->code) {
	case IOCTL_STORAGE_GET_DEVICE_NUMBER:
		return device_number(r);
	case IOCTL_STORAGE_GET_DEVICE_NUMBER_EX:
		return device_number_ex(r);
	case IOCTL_STORAGE_QUERY_PROPERTY:
		return query_property(r);
	case IOCTL_SCSI_GET_ADDRESS:
		return scsi_address(r);
	case IOCTL_STORAGE_CHECK_VERIFY: // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ni-ntddstor-ioctl_storage_check_verify
	case IOCTL_STORAGE_CHECK_VERIFY2: {
		const ULONG changes = 0;
		return r->out_size ? put(r, &changes, sizeof changes) : STATUS_SUCCESS;
	}
	case IOCTL_STORAGE_GET_HOTPLUG_INFO: { // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ni-ntddstor-ioctl_storage_get_hotplug_info
		STORAGE_HOTPLUG_INFO information = {.Size = sizeof information, .MediaRemovable = r->disk->removable, .DeviceHotplug = r->disk->bus == BusTypeUsb};
		return put(r, &information, sizeof information);
	}
	}
	return STATUS_NOT_IMPLEMENTED;
}
